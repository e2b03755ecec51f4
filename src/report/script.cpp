#include "report/assets.h"

namespace ick::detail {

// The page is whole without it: values where the pointer or the keyboard is, parts of long figures, copying.
const char* const kPageScript = R"js(
'use strict';
(() => {
const make = (name, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return element;
};
const html = (name, className, text) => {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
};
const number = (element, name) => parseFloat(element.getAttribute(name));
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const day = 86400000;
const live = html('div', 'hidden', '');
live.setAttribute('role', 'status');
document.body.append(live);

const stepText = (value, step) => {
  const largest = Math.max(Math.abs(value), step);
  if (!(largest < 1e7) || step < 1e-4) return value.toExponential(2);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return value.toLocaleString('en', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
};
const plainText = value => {
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e7 || size < 1e-4) ? value.toExponential(3) : value.toLocaleString('en', {maximumSignificantDigits: 5});
};
const clock = days => new Date(Math.round(days * 86400) * 1000).toISOString();
const timeText = days => {
  if (!(Math.abs(days) < 1e7)) return plainText(days);
  return Number.isInteger(days) ? clock(days).slice(0, 10) : clock(days).slice(0, 16).replace('T', ' ');
};
const valueAt = (axis, part) => axis.kind === 'log' ? axis.low * Math.pow(axis.high / axis.low, part)
                                                    : axis.low + part * (axis.high - axis.low);
const axisText = (axis, value) => {
  if (axis.kind === 'levels') return (axis.levels || [])[Math.round(value)] || '';
  return axis.kind === 'time' ? timeText(value) : plainText(value);
};

const roundStep = least => {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  return power * [1, 2, 5, 10].find(digit => digit * power >= least * (1 - 1e-9));
};
const every = (low, high, step, text) => {
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) ticks.push([k * step, text(k * step)]);
  return ticks;
};
const monthTicks = (low, high, step) => {
  const ticks = [];
  const first = new Date(low * day);
  let month = first.getUTCFullYear() * 12 + first.getUTCMonth();
  for (month -= month % step;; month += step) {
    const date = new Date(Date.UTC(2000, 0, 1));
    date.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    const at = date.getTime() / day;
    if (at > high) return ticks;
    const year = date.getUTCFullYear();
    if (at >= low) ticks.push([at, step % 12 ? months[month % 12] + ' ' + year : String(year)]);
  }
};
const ticksOf = (axis, low, high, most) => {
  const least = (high - low) / most;
  if (axis.kind !== 'time' || !(Math.abs(high) < 1e7)) {
    const step = roundStep(least);
    return every(low, high, step, value => stepText(Math.abs(value) < step / 2 ? 0 : value, step));
  }
  const dayMonth = value => +clock(value).slice(8, 10) + ' ' + months[+clock(value).slice(5, 7) - 1];
  for (const minutes of [1, 5, 15, 30, 60, 180, 360, 720]) {
    if (minutes / 1440 >= least) return every(low, high, minutes / 1440, value => dayMonth(value) + ', ' + clock(value).slice(11, 16));
  }
  for (const days of [1, 2, 7, 14]) {
    if (days >= least) return every(low, high, days, value => dayMonth(value) + ' ' + clock(value).slice(0, 4));
  }
  for (const step of [1, 3, 6, 12]) {
    if (step * 30.44 >= least) return monthTicks(low, high, step);
  }
  return monthTicks(low, high, 12 * roundStep(least / 365.25));
};

// Marks where a plot has them, with the numbers and texts that the wide one of the same picture tells.
const marksOf = (plot, told) => {
  const marks = [];
  for (const [which, group] of [...plot.children].entries()) {
    const kind = ['line', 'points', 'bars', 'cells'].find(name => group.classList.contains(name));
    if (!kind) continue;
    for (const [part, path] of [...group.children].entries()) {
      if (path.classList.contains('rim')) continue;
      const data = told.children[which].children[part].dataset, parsed = name => JSON.parse(data[name] || '[]');
      const places = parsed('at'), values = parsed('value'), texts = parsed('text');
      const found = path.getAttribute('d').matchAll(/[ML](-?[\d.]+) (-?[\d.]+)(?:h(-?[\d.]+)v(-?[\d.]+))?/g);
      let index = 0;
      for (const [, x, y, width, height] of found) {
        const w = +(width || 0), h = +(height || 0);
        marks.push({kind, name: told.children[which].dataset.name, x: +x + w / 2, y: +y + (kind === 'cells' ? h / 2 : 0), w, h,
                    left: +x, top: +y, at: places.slice(2 * index, 2 * index + 2), text: texts[index], value: values[index]});
        ++index;
      }
    }
  }
  return marks.sort((a, b) => a.x - b.x);
};

const enliven = (svg, picture, tip) => {
  const plot = svg.querySelector('.plot'), axes = {x: JSON.parse(svg.dataset.x), y: JSON.parse(svg.dataset.y)};
  const left = number(plot, 'x'), top = number(plot, 'y'), width = number(plot, 'width'), height = number(plot, 'height');
  const title = svg.querySelector('title'), zoom = svg.classList.contains('zoom') && ['linear', 'time'].includes(axes.x.kind);
  svg.removeAttribute('aria-labelledby');
  svg.setAttribute('aria-label', title.textContent + '. ' + svg.querySelector('desc').textContent);
  title.remove();  // browsers show it where the pointer rests
  const original = {axis: svg.querySelector('.x-axis').cloneNode(true), grid: svg.querySelector('.grid-x').getAttribute('d')};
  const marker = make('circle', {class: 'marker', r: 6, visibility: 'hidden'});
  svg.append(marker);
  let marks, current = -1, from = 0, shown = width;  // part of the plot that is seen
  const all = () => marks || (marks = marksOf(plot, picture.querySelector('.wide .plot')));
  const seen = x => (x - from) * width / shown;

  const hide = () => {
    tip.hidden = true;
    marker.setAttribute('visibility', 'hidden');
    current = -1;
  };
  const tell = (mark, aloud) => {
    const lines = [mark.name, mark.text].filter(line => line);
    for (const [i, axis] of [axes.x, axes.y].entries()) lines.push((axis.title ? axis.title + ': ' : '') + axisText(axis, mark.at[i]));
    if (typeof mark.value === 'number') lines.push((svg.dataset.colour ? svg.dataset.colour + ': ' : '') + plainText(mark.value));
    tip.textContent = lines.join('\n');
    tip.hidden = false;
    const box = svg.getBoundingClientRect(), around = picture.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const x = left + seen(mark.x), yAt = top + mark.y;
    marker.setAttribute('cx', x);
    marker.setAttribute('cy', yAt);
    marker.setAttribute('visibility', mark.kind === 'line' || mark.kind === 'points' ? 'visible' : 'hidden');
    const place = x * scale + box.left - around.left;
    tip.style.left = Math.max(0, Math.min(place + 14, around.width - tip.offsetWidth)) + 'px';
    const above = yAt * scale - tip.offsetHeight - 12;
    tip.style.top = (above > 0 ? above : yAt * scale + 16) + 'px';
    if (aloud) live.textContent = lines.join('; ');
  };
  const nearest = (x, y) => {
    let best = null, least = 28;
    for (const mark of all()) {
      let distance;
      if (mark.kind === 'bars' || mark.kind === 'cells') {
        const inside = x >= mark.left && x <= mark.left + mark.w && (mark.kind === 'bars' || (y >= mark.top && y <= mark.top + mark.h));
        const lies = y >= mark.top && y <= mark.top + mark.h && axes.y.kind === 'levels';
        distance = inside || lies ? 10 : Infinity;
      } else {
        const dx = Math.abs(mark.x - x) * width / shown, dy = Math.abs(mark.y - y);
        distance = mark.kind === 'line' ? dx + 0.3 * dy : Math.hypot(dx, dy);
      }
      if (distance < least) {
        least = distance;
        best = mark;
      }
    }
    return best;
  };
  const place = event => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    return {x: from + ((event.clientX - box.left) * scale - left) * shown / width, y: (event.clientY - box.top) * scale - top};
  };

  const show = (start, end) => {
    const least = width / 2000;
    start = Math.max(0, start);
    end = Math.min(width, end);
    if (end - start < least) return;
    from = start;
    shown = end - start;
    plot.setAttribute('viewBox', `${from} 0 ${shown} ${height}`);
    const labels = svg.querySelector('.labels');
    if (labels) labels.setAttribute('visibility', shown < width ? 'hidden' : 'visible');
    const axis = svg.querySelector('.x-axis'), grid = svg.querySelector('.grid-x');
    hide();
    if (shown >= width) {
      axis.replaceWith(original.axis.cloneNode(true));
      grid.setAttribute('d', original.grid);
      return;
    }
    const low = valueAt(axes.x, from / width), high = valueAt(axes.x, (from + shown) / width);
    const fresh = make('g', {class: 'x-axis'});
    let path = '';
    for (const [at, text] of ticksOf(axes.x, low, high, Math.max(2, Math.floor(width / 110)))) {
      const x = left + (at - low) / (high - low) * width;
      const label = make('text', {x, y: top + height + 17, 'text-anchor': 'middle'});
      label.textContent = text;
      fresh.append(label);
      path += `M${x} ${top}v${height}`;
    }
    axis.replaceWith(fresh);
    grid.setAttribute('d', path);
  };
  const closer = factor => {
    const middle = current >= 0 ? all()[current].x : from + shown / 2, half = Math.min(width, shown * factor) / 2;
    const start = Math.min(Math.max(0, middle - half), width - 2 * half);
    show(start, start + 2 * half);
  };

  let begun = null;
  const brush = make('rect', {class: 'brush', y: 0, height, visibility: 'hidden'});
  plot.append(brush);
  svg.addEventListener('pointermove', event => {
    const at = place(event);
    if (begun !== null) {
      brush.setAttribute('x', Math.min(begun, at.x));
      brush.setAttribute('width', Math.abs(at.x - begun));
      brush.setAttribute('visibility', 'visible');
      return;
    }
    const mark = at.x >= from - 8 && at.x <= from + shown + 8 && at.y >= -8 && at.y <= height + 8 ? nearest(at.x, at.y) : null;
    if (mark) tell(mark, false); else hide();
  });
  svg.addEventListener('pointerleave', hide);
  if (zoom) {
    svg.addEventListener('pointerdown', event => {
      const at = place(event);
      if (event.pointerType === 'touch' || event.button !== 0 || at.y < 0 || at.y > height || at.x < from || at.x > from + shown) return;
      begun = at.x;
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    const end = event => {
      if (begun === null) return;
      const at = place(event).x, start = begun;
      begun = null;
      brush.setAttribute('visibility', 'hidden');
      if (event.type === 'pointerup' && Math.abs(at - start) * width / shown > 6) show(Math.min(at, start), Math.max(at, start));
    };
    svg.addEventListener('pointerup', end);
    svg.addEventListener('pointercancel', end);
    svg.addEventListener('dblclick', () => show(0, width));
  }
  svg.setAttribute('tabindex', 0);
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step) {
      const inside = mark => mark.x >= from && mark.x <= from + shown;
      let next = current < 0 ? (step > 0 ? all().findIndex(inside) : all().findLastIndex(inside)) : current + step;
      if (next < 0 || next >= all().length || !inside(all()[next])) next = current;
      if (next >= 0) tell(all()[current = next], true);
    } else if (event.key === 'Escape') {
      hide();
      show(0, width);
    } else if (zoom && (event.key === '+' || event.key === '=')) {
      closer(0.5);
    } else if (zoom && event.key === '-') {
      closer(2);
    } else {
      return;
    }
    event.preventDefault();
  });
  return zoom ? {closer, all: () => show(0, width)} : null;
};

for (const picture of document.querySelectorAll('.picture')) {
  const tip = html('div', 'tip', '');
  tip.hidden = true;
  const views = [...picture.querySelectorAll('.figure')].map(svg => enliven(svg, picture, tip)).filter(view => view);
  picture.append(tip);
  if (!views.length) continue;
  const tools = html('div', 'tools', '');
  tools.append(html('span', '', 'Drag to choose a part, double click for all.'));
  for (const [text, label, act] of [['+', 'Closer', view => view.closer(0.5)], ['\u2212', 'Farther', view => view.closer(2)], ['All', 'The whole', view => view.all()]]) {
    const button = html('button', '', text);
    button.type = 'button';
    button.setAttribute('aria-label', label);
    button.addEventListener('click', () => views.forEach(act));
    tools.append(button);
  }
  picture.after(tools);
}

for (const command of document.querySelectorAll('.command')) {
  const button = html('button', 'copy', 'Copy'), code = command.querySelector('code');
  button.type = 'button';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = live.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = live.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  command.append(button);
}

addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(each => { each.open = true; }));

const links = new Map([...document.querySelectorAll('.toc a')].map(link => [link.hash.slice(1), link]));
const visible = new Set();
const observer = new IntersectionObserver(entries => {
  for (const entry of entries) visible[entry.isIntersecting ? 'add' : 'delete'](entry.target.id);
  const first = [...links.keys()].find(id => visible.has(id));
  if (!first) return;
  for (const [id, link] of links) id === first ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current');
}, {rootMargin: '-10% 0px -60% 0px'});
for (const id of links.keys()) observer.observe(document.getElementById(id));
})();
)js";

}  // namespace ick::detail
