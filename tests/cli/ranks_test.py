#!/usr/bin/env python3
"""Several processes that train one model.   ranks_test.py PROGRAM"""
import csv
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from support import PROGRAM, FolderCase, csv_text, rows

FORMULA = "y ~ mlp(x, z, layers=[9, 5]) * periodic(date, period=30d) + rbf(lat, lon)"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Ranks(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "t.csv").write_text(csv_text(rows(400)))

    def start_one(self, rank, count, port, *words):
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                                                             "RANK": str(rank), "WORLD_SIZE": str(count),
                                                             "OMP_NUM_THREADS": "1"})  # fmt: skip

    def start(self, count, *words):
        """That many processes, as torchrun would start them."""
        port = free_port()
        return [self.start_one(rank, count, port, *words) for rank in range(count)]

    def finish(self, processes, code=0):
        results = [(p.communicate(timeout=240), p.returncode) for p in processes]
        for (out, err), returned in results:
            self.assertEqual(returned, code, err)
        return [result[0] for result in results]

    def fit(self, count, name, *options):
        words = ["fit", "t.csv", FORMULA, "--out", name, "--epochs", "3", "--batch", "64", "--seed", "3", *options]
        if count == 1:
            return [(result.stdout, result.stderr) for result in [self.run_ick(*words, "--threads", "1")]]
        return self.finish(self.start(count, *words))

    def predictions(self, name):
        header, *lines = csv.reader(io.StringIO(self.run_ick("predict", name, "t.csv").stdout))
        return [[float(line[header.index(column)]) for column in ("mean", "sd")] for line in lines]

    def expect_same(self, one, other):
        for a, b in zip(self.predictions(one), self.predictions(other), strict=True):
            for x, y in zip(a, b):
                self.assertAlmostEqual(x, y, delta=2e-4 * (1 + abs(x)))

    def test_members_apart(self):
        """Four members: two and four processes have some each."""
        self.fit(1, "members1", "--members", "4")
        for count in (2, 4):
            said = self.fit(count, f"members{count}", "--members", "4")
            self.assertIn(f"{count} processes", said[0][1])
            self.assertTrue(all(err == "" and out == "" for out, err in said[1:]), said)
            self.expect_same("members1", f"members{count}")

    def test_rows_apart(self):
        """One member, or kernels that are learned: processes share the rows of each step."""
        for options in (("--members", "1"), ("--members", "2", "--kernels", "learned")):
            name = "rows" + options[1]
            self.fit(1, name + "-1", *options)
            for count in (2, 4):
                self.fit(count, f"{name}-{count}", *options)
                self.expect_same(name + "-1", f"{name}-{count}")

    def test_a_step_with_fewer_rows_than_processes(self):
        for count in (1, 2):
            words = ["fit", "t.csv", "y ~ mlp(x, z)", "--out", f"few{count}", "--epochs", "3", "--batch", "379", "--members",
                     "1", "--validation", "random=5%"]  # 380 rows to train on: the second step has one
            self.run_ick(*words, "--threads", "1") if count == 1 else self.finish(self.start(count, *words))
        self.expect_same("few1", "few2")

    def test_members_and_rows_apart(self):
        self.fit(1, "both1", "--members", "2")
        self.fit(4, "both4", "--members", "2")
        self.expect_same("both1", "both4")

    def test_by_autograd(self):
        """What the fast path cannot do is shared by rows."""
        for count in (1, 2):
            words = ["fit", "t.csv", "y ~ mlp(x, z, norm=layer)", "--out", f"norm{count}", "--epochs", "3", "--batch", "64",
                     "--members", "2", "--validation", "random=20%"]
            self.run_ick(*words, "--threads", "1") if count == 1 else self.finish(self.start(count, *words))
        self.expect_same("norm1", "norm2")

    def test_what_is_solved_is_not_shared_out(self):
        """Every process would do all of the work: said at planning, by each of them."""
        for formula, options, posterior in (("y ~ rbf(x)", (), "neighbours"),
                                            ("y ~ mlp(x)", ("--posterior", "nngp", "--members", "20"), "nngp")):
            running = self.start(2, "fit", "t.csv", formula, "--out", "solved", *options)
            for process in running:
                err = process.communicate(timeout=120)[1]
                self.assertEqual(process.returncode, 2, err)
                self.assertIn(f"--posterior {posterior} is solved in closed form: every process would do the same work; "
                              "start one process, without WORLD_SIZE", err)
            self.assertFalse((self.folder / "solved").exists())
            self.assertFalse((self.folder / "solved.checkpoint").exists())

    def test_neighbours_beside_networks_are_not_shared_out(self):
        """Said before networks are trained."""
        running = self.start(2, "fit", "t.csv", "y ~ mlp(x) + matern32(z)", "--out", "beside", "--neighbours", "yes")
        for process in running:
            err = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 2, err)
            self.assertIn("--neighbours yes is for a fit by one process", err)
            self.assertNotIn("train ", err)
        self.assertFalse((self.folder / "beside").exists())

    def wait_for_epoch(self, process):
        """Until the first process has told of an epoch."""
        for line in process.stderr:
            if re.match(r"train \d+/", line):
                return
        self.fail("the fit ended before it trained")

    def test_a_process_that_dies_leaves_a_checkpoint_for_any_number(self):
        words = ["fit", "t.csv", FORMULA, "--epochs", "400", "--patience", "400", "--batch", "16", "--members", "2",
                 "--refit", "no", "--progress", "plain"]
        whole = self.start(1, *words, "--out", "whole")
        self.finish(whole)
        processes = self.start(2, *words, "--out", "lost")
        self.wait_for_epoch(processes[0])
        processes[1].send_signal(signal.SIGKILL)
        began = time.time()
        _, err = processes[0].communicate(timeout=120)
        processes[1].communicate()
        self.assertEqual(processes[0].returncode, 1, err)
        self.assertLess(time.time() - began, 60)
        said = err.strip().splitlines()[-1]
        self.assertRegex(said, r"^ick: rank 0 of 2: .*gone.*; to resume with any number of processes: "
                               r"ick fit --resume 'lost.checkpoint'$")
        self.finish(self.start(1, "fit", "--resume", "lost.checkpoint"))
        self.expect_same("whole", "lost")

    def test_an_interrupt_stops_all_and_another_number_goes_on(self):
        words = ["fit", "t.csv", FORMULA, "--epochs", "400", "--patience", "400", "--batch", "16", "--members", "2",
                 "--refit", "no", "--progress", "plain", "--learning-rate", "1e-4"]
        processes = self.start(2, *words, "--out", "stopped")
        self.wait_for_epoch(processes[0])
        processes[0].send_signal(signal.SIGINT)
        self.finish(processes, code=130)
        self.finish(self.start(4, "fit", "--resume", "stopped.checkpoint"))
        self.finish(self.start(1, *words, "--out", "unstopped"))
        self.expect_same("unstopped", "stopped")

    def test_processes_that_are_not_told_the_same(self):
        (self.folder / "other.csv").write_text(csv_text(rows(400, seed=8)))
        port, words = free_port(), ["y ~ mlp(x)", "--out", "never", "--members", "2"]
        for one, other, code, said in ((["t.csv", *words], ["other.csv", *words], 3, "the same table"),
                                       (["t.csv", *words], ["t.csv", *words, "--epochs", "9"], 2, "the same command")):
            running = [subprocess.Popen([PROGRAM, "fit", *given], cwd=self.folder, stderr=subprocess.PIPE, text=True,
                                        env=os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                                                          "RANK": str(rank), "WORLD_SIZE": "2"})
                       for rank, given in enumerate((one, other))]
            for process in running:
                self.assertIn(said, process.communicate(timeout=120)[1])
                self.assertEqual(process.returncode, code)
            port = free_port()

    def test_waiting_is_told(self):
        """The last process comes when the others have said that they wait for it."""
        port = free_port()
        words = ["fit", "t.csv", "y ~ mlp(x)", "--out", "waited", "--epochs", "2", "--members", "3"]
        early = [self.start_one(rank, 3, port, *words) for rank in (0, 2)]
        for rank, process in zip((0, 2), early):
            self.assertEqual(process.stderr.readline(), f"rank {rank} of 3: waiting for 1 of 3 processes at "
                                                        f"127.0.0.1:{port} (gives up after 5 minutes)\n")
        self.finish([*early, self.start_one(1, 3, port, *words)])

    def test_a_table_that_is_kept_in_files(self):
        """The first process writes the columns, which the others find."""
        with open(self.folder / "large.csv", "w") as file:  # more than 32 MB
            file.write("y,x\n")
            for i in range(1000):
                file.write(f"{i * 37 % 1000 / 7},{i / 13}" + " " * 33_000 + "\n")
        words = ["fit", "large.csv", "y ~ mlp(x)", "--epochs", "2", "--members", "2"]
        for count in (1, 3):
            self.finish(self.start(count, *words, "--out", f"large{count}"))
            self.assertTrue((self.folder / "large.csv.columns").is_dir())
            shutil.rmtree(self.folder / "large.csv.columns")
        self.run_ick("evaluate", "large3", "large.csv")

    def test_a_table_that_one_of_them_may_not_keep(self):
        port, words = free_port(), ["fit", "t.csv", "y ~ mlp(x)", "--epochs", "2", "--members", "2", "--out", "kept"]
        self.finish([self.start_one(0, 2, port, *words), self.start_one(1, 2, port, *words, "--no-cache")])

    def test_environment(self):
        for change, said in (({"RANK": "2"}, "RANK"), ({"MASTER_PORT": "port"}, "MASTER_PORT"), ({"RANK": None}, "RANK")):
            env = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "0", "WORLD_SIZE": "2"} | change
            env = {name: value for name, value in env.items() if value is not None}
            result = self.run_ick("fit", "t.csv", "y ~ mlp(x)", "--out", "m", code=2, env=env)
            self.assertRegex(result.stderr, rf"^ick: .*{said}.*\n$")


if __name__ == "__main__":
    unittest.main()
