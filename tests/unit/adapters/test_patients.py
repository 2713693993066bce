"""Patient tables: small ones by hand, hostile ones, and the published one if it lies beside the project."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from goalbound import evaluate, solve
from goalbound.adapters.patients import PatientTable, death_state, read_patients, readmission
from goalbound.errors import FileFormatError, InputError
from goalbound.planning import is_proper

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "sepsis_diab_tables.npz"
GROUPS = ["young", "old"]


def small() -> dict[str, np.ndarray]:
    """States: ill, weak, dead, home. Patients begin ill (young) or, half of them, weak (old). Two actions."""
    young = [[[0.0, 0.5, 0.1, 0.4], [0.0, 0.5, 0.5, 0.0]], [[0.2, 0.0, 0.0, 0.8], [1.0, 0.0, 0.0, 0.0]]]
    old = [[[0.0, 0.5, 0.4, 0.1], [0.0, 0.0, 1.0, 0.0]], [[0.5, 0.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]]]
    absorbed = [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    return {
        "tx_mat": np.array([[rows + absorbed for rows in group] for group in (young, old)], dtype=np.float32),
        "reward_of_next_state": np.array([0.0, 0.0, -1.0, 1.0]),
        "p_initial_state": np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]]),
    }


def written(folder: Path, arrays: dict[str, np.ndarray]) -> Path:
    path = folder / "table.npz"
    np.savez(path, **arrays)
    return path


def dense(table: PatientTable, group: int) -> np.ndarray:
    """[N, S + 1] the rows of a group."""
    support = table.problem.support
    rows = np.zeros((support.pairs, support.states + 1))
    pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    rows[pair, support.next_state] = table.problem.probabilities[:, group]
    return rows


def test_a_death_leads_to_where_patients_of_the_group_begin(tmp_path: Path) -> None:
    table = read_patients(written(tmp_path, small()), groups=GROUPS)
    assert table.problem.component_names == ("young", "old")
    assert table.file_states.tolist() == [0, 1]
    # Pairs: (ill, 0), (ill, 1), (weak, 0), (weak, 1); next states: ill, weak, the goal.
    np.testing.assert_allclose(dense(table, 0)[0], [0.1, 0.5, 0.4], atol=1e-7)  # the dead tenth begins ill
    np.testing.assert_allclose(dense(table, 1)[0], [0.2, 0.5 + 0.2, 0.1], atol=1e-7)  # 0.4, half of it to each
    np.testing.assert_allclose(dense(table, 1)[2], [0.5, 0.5, 0.0], atol=1e-7)  # all die
    np.testing.assert_allclose(table.problem.start, [[1.0, 0.5], [0.0, 0.5]])


def test_the_mean_loss_counts_deaths(tmp_path: Path) -> None:
    table = read_patients(written(tmp_path, small()), groups=GROUPS, on_death=readmission(loss=0.8))
    # 0.05 + 0.75 * chance of death: 0.1 and 0.4 for (ill, 0), 0.5 and 1 for (weak, 0).
    expected = [[0.125, 0.35], [0.05, 0.05], [0.425, 0.8], [0.05, 0.05]]
    np.testing.assert_allclose(table.problem.losses, expected, atol=1e-7)


def test_a_pair_may_lead_where_it_does_in_any_group(tmp_path: Path) -> None:
    support = read_patients(written(tmp_path, small()), groups=GROUPS).problem.support
    assert support.next_state[support.row(support.pair(1, 0))].tolist() == [0, 1]  # only the old begin weak
    assert support.next_state[support.row(support.pair(1, 1))].tolist() == [0]


def test_the_dead_as_a_state_have_the_same_values_and_known_losses(tmp_path: Path) -> None:
    path = written(tmp_path, small())
    direct = read_patients(path, groups=GROUPS).problem
    table = read_patients(path, groups=GROUPS, on_death=death_state())
    assert table.file_states.tolist() == [0, 1, -1]
    assert (table.problem.losses[:-1] == 0.05).all()
    np.testing.assert_allclose(table.problem.losses[-1], 0.95)  # 1 in all, of which the step lost 0.05
    np.testing.assert_allclose(dense(table, 1)[-1], [0.5, 0.5, 0.0, 0.0])
    for group in GROUPS:
        with_state, without = solve(table.problem.component(group)), solve(direct.component(group))
        np.testing.assert_allclose(with_state.values[:2], without.values[:2], rtol=1e-7)


def test_rows_of_float32_are_divided_by_their_sums_and_it_is_said_by_how_much(tmp_path: Path) -> None:
    arrays = small()
    arrays["tx_mat"][0, 1, 0] = np.float32(1 + 5e-5) * arrays["tx_mat"][0, 1, 0]
    table = read_patients(written(tmp_path, arrays), groups=GROUPS)
    assert table.correction == pytest.approx(5e-5, rel=0.01)
    assert "within 5.0e-05" in str(table)
    np.testing.assert_allclose(dense(table, 0).sum(axis=1), 1.0, rtol=1e-15)


def test_rows_of_states_where_nothing_is_done_are_not_looked_at(tmp_path: Path) -> None:
    arrays = small()
    arrays["tx_mat"][:, :, 2:] = np.nan
    assert read_patients(written(tmp_path, arrays), groups=GROUPS).problem.support.states == 2


def test_shares_are_read_where_they_are_given(tmp_path: Path) -> None:
    assert read_patients(written(tmp_path, small()), groups=GROUPS).shares is None
    table = read_patients(written(tmp_path, small() | {"p_mixture": np.array([0.8, 0.2])}), groups=GROUPS)
    assert table.shares is not None
    np.testing.assert_allclose(table.shares, [0.8, 0.2])


def test_another_layout_has_no_names(tmp_path: Path) -> None:
    support = read_patients(written(tmp_path, small()), groups=GROUPS).problem.support
    assert support.state_names is None
    assert support.action_names is None


def named(**others: object) -> dict[str, np.ndarray]:
    names = {"state_names": ["ill", "weak", "dead", "home"], "action_names": ["wait", "treat"]} | others
    return small() | {name: np.array(values) for name, values in names.items() if values is not None}


def test_names_are_read_where_they_are_given(tmp_path: Path) -> None:
    support = read_patients(written(tmp_path, named()), groups=GROUPS, on_death=death_state()).problem.support
    assert support.state_names == ("ill", "weak", "dead")
    assert support.action_names == ("wait", "treat")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"state_names": None}, "the file has action_names alone; give state_names and action_names, or none"),
        ({"state_names": ["ill", "weak", "home"]}, r"state_names has shape \(3,\); it needs \(4,\), one name for each"),
        ({"action_names": ["wait", "wait"]}, '"wait" appears twice in action_names'),
        ({"action_names": [1, 2]}, "action_names holds int64; it needs names, as text"),
        ({"state_names": [b"ill", b"weak", b"dead", b"home"]}, r"state_names holds \|S4; it needs names, as text"),
    ],
)
def test_wrong_names_are_refused(tmp_path: Path, names: dict[str, object], said: str) -> None:
    with pytest.raises(FileFormatError, match=said):
        read_patients(written(tmp_path, named(**names)), groups=GROUPS)


@pytest.mark.parametrize("code", [0x110000, 0xD800, 0xDFFF])  # above the last character there is; half characters
@pytest.mark.parametrize("order", "<>")
def test_names_that_are_no_text_are_refused(tmp_path: Path, code: int, order: str) -> None:
    codes = np.full((4, 4), code, dtype=f"{order}u4")
    arrays = named() | {"state_names": codes.view(f"{order}U4")[:, 0]}
    with pytest.raises(FileFormatError, match="state_names holds codes that are no characters"):
        read_patients(written(tmp_path, arrays), groups=GROUPS)


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("tx_mat", (1, 0, 0, 3), 0.2, r"tx_mat\[1, 0, 0\] sums to 1.1"),
        ("tx_mat", (0, 1, 1, 0), np.nan, r"tx_mat\[0, 1, 1\], entry 0: nan is not a probability"),
        ("tx_mat", (0, 1, 1, 0), -0.5, r"tx_mat\[0, 1, 1\], entry 0: -0.5 is not a probability"),
        ("reward_of_next_state", 1, 0.5, r"reward_of_next_state\[1\] is 0.5; it is -1 \(death\)"),
        ("reward_of_next_state", 1, np.nan, r"reward_of_next_state\[1\] is nan"),
        ("reward_of_next_state", 3, 0.0, r"has no discharge \(1\)"),
        ("reward_of_next_state", slice(0, 2), -1.0, r"has no live state \(0\)"),
        ("p_initial_state", (0, 0), 0.9, r"p_initial_state\[0\] sums to 0.9"),
        ("p_initial_state", 1, [0.5, 0.0, 0.5, 0.0], r"p_initial_state\[1, 2\] is 0.5, but state 2 is a death"),
    ],
)
def test_a_wrong_number_is_named_with_its_place(tmp_path: Path, name: str, place, value, said: str) -> None:
    arrays = small()
    arrays[name][place] = value
    with pytest.raises(FileFormatError, match=said) as caught:
        read_patients(written(tmp_path, arrays), groups=GROUPS)
    assert str(tmp_path / "table.npz") in str(caught.value)


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("tx_mat", None, r"tx_mat is missing \(the file has p_initial_state, reward_of_next_state\); it is \[d"),
        ("tx_mat", np.ones((2, 2, 4, 3)), r"tx_mat has shape \(2, 2, 4, 3\)"),
        ("tx_mat", np.ones((2, 4, 4)), r"tx_mat has shape \(2, 4, 4\)"),
        ("tx_mat", np.ones((2, 0, 4, 4)), r"tx_mat has shape \(2, 0, 4, 4\)"),
        ("reward_of_next_state", np.zeros(3), r"reward_of_next_state has shape \(3,\)"),
        ("p_initial_state", np.zeros((4, 2)), r"p_initial_state has shape \(4, 2\)"),
        ("p_mixture", np.array([0.5, 0.3, 0.2]), r"p_mixture has shape \(3,\)"),
        ("p_mixture", np.array(["a", "b"]), "p_mixture holds <U1; it needs plain numbers"),
    ],
)  # fmt: skip
def test_a_wrong_array_is_named(tmp_path: Path, name: str, array, said: str) -> None:
    arrays = small()
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    with pytest.raises(FileFormatError, match=said):
        read_patients(written(tmp_path, arrays), groups=GROUPS)


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("the file was executed",))


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    arrays = small() | {"p_mixture": np.array([Trap(), Trap()], dtype=object)}
    with pytest.raises(FileFormatError, match="p_mixture holds object; it needs plain numbers"):
        read_patients(written(tmp_path, arrays), groups=GROUPS)


def test_an_array_that_claims_more_than_it_has_asks_for_no_memory(tmp_path: Path) -> None:
    path = written(tmp_path, small())
    forged = tmp_path / "forged.npz"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "tx_mat.npy":
                content = content.replace(b"(2, 2, 4, 4)", b"(999999, 99)")
            new.writestr(name, content)
    with pytest.raises(FileFormatError, match=r"forged.npz: tx_mat claims shape \(999999, 99\) of float32"):
        read_patients(forged, groups=GROUPS)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, **(small() | {"tx_mat": np.zeros((2, 2, 500, 500))}))
    with pytest.raises(FileFormatError, match="tx_mat has 8000128 bytes; with the others that is above 1000000: raise"):
        read_patients(path, groups=GROUPS, limit=1_000_000)


def test_other_files_are_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "notes.npz"
    path.write_text("no table")
    with pytest.raises(FileFormatError, match=r"notes.npz: damaged patient table file"):
        read_patients(path)


def test_settings_are_checked(tmp_path: Path) -> None:
    path = written(tmp_path, small())
    with pytest.raises(InputError, match="tx_mat has 2 groups, and 3 are named"):
        read_patients(path, groups=["a", "b", "c"])
    with pytest.raises(InputError, match=r"step_loss 1.5 is not in \[0, 1\]"):
        read_patients(path, step_loss=1.5)
    with pytest.raises(InputError, match=r"the loss of a death, 20.0, is not in \[0, 1\]"):
        readmission(loss=20)
    with pytest.raises(InputError, match=r"a death loses 0.1, less than the 0.2 of a step"):
        read_patients(path, step_loss=0.2, on_death=death_state(loss=0.1))


@pytest.fixture(scope="module")
def published() -> PatientTable:
    if not PUBLISHED.exists():
        pytest.skip("the patient table is not here (../shared/data)")
    return read_patients(PUBLISHED)


def test_ignoring_the_diagnosis_breaks_termination(published: PatientTable) -> None:
    problem = published.problem
    assert problem.support.states == 303  # 720 less 416 deaths and the discharge
    one, other = solve(problem.component("not diabetic")), solve(problem.component("diabetic"))
    assert round(float(one.values.max()), 2) == 3.10
    assert round(float(other.values.max()), 2) == 1.94
    assert np.count_nonzero(one.policy != other.policy) == 211
    averaged = solve(problem.at([0.5, 0.5])).policy
    assert not is_proper(problem.component(0), averaged)
    assert np.isinf(evaluate(problem.component(0), averaged).hitting_times[:-1]).all()  # all may come to the trap


def test_the_best_treatments_of_the_published_table_are_unique_and_optimal(published: PatientTable) -> None:
    """An independent look at Bellman's equation: so the number of states that differ does not hang on ties."""
    problem = published.problem
    support = problem.support
    for group in range(2):
        ssp = problem.component(group)
        solution = solve(ssp)
        ahead = ssp.losses + dense(published, group) @ solution.values
        gaps = np.sort((ahead - solution.values[support.pair_state]).reshape(303, 8), axis=1)
        np.testing.assert_allclose(gaps[:, 0], 0.0, atol=1e-8)
        assert gaps[:, 1].min() > 1e-4


def test_the_published_table_shows_what_its_states_mean(published: PatientTable) -> None:
    support = published.problem.support
    assert support.state_names is not None
    # 1 * 240 + 1 * 80 + 1 * 40 + 3 * 8: heart rate, blood pressure and oxygen normal, glucose high, no treatment.
    assert support.state_names[published.file_states.tolist().index(384)] == "glucose high"
    assert support.action_names is not None
    assert support.action_names[:3] == ("nothing", "vasopressors", "ventilation")
    for action, name in enumerate(support.action_names):  # states tell the treatments that were given last
        pairs = np.flatnonzero(support.pair_action == action)
        reached = {int(t) for pair in pairs for t in support.next_state[support.row(pair)]}
        after = "" if name == "nothing" else f"; on {name}"
        assert any(support.state_names[t].endswith(after) for t in reached if t < 303)


def test_names_are_left_out_if_the_file_contradicts_them(tmp_path: Path) -> None:
    if not PUBLISHED.exists():
        pytest.skip("the patient table is not here (../shared/data)")
    with np.load(PUBLISHED, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data}
    arrays["tx_mat"] = arrays["tx_mat"][:, ::-1]  # actions in another order
    assert read_patients(written(tmp_path, arrays)).problem.support.state_names is None


def test_the_shares_and_the_rounding_of_the_published_table(published: PatientTable) -> None:
    assert published.shares is not None
    np.testing.assert_allclose(published.shares, [0.8, 0.2])
    assert published.correction < 1e-6  # float32


def test_a_damaged_header_of_any_kind_is_a_damaged_file(tmp_path: Path) -> None:
    """NumPy parses the header as a Python literal, so a damaged byte may be any error of the tokenizer or parser."""
    good = written(tmp_path, small()).read_bytes()
    start = good.index(b"\x93NUMPY")
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.npz"
    words = [b"(((((", b"'''", b"\x00", b"{", b"\\", b"\n  x", b"[" * 60, b"0x", b"1e", b"shape", b"-", b"'"]
    refused = 0
    for _ in range(300):
        damaged = bytearray(good)
        at = start + int(rng.integers(6, 70))
        word = words[rng.integers(len(words))] if rng.random() < 0.7 else rng.bytes(3)
        damaged[at : at + len(word)] = word
        path.write_bytes(without_checksums(bytes(damaged)))
        try:
            read_patients(path, groups=GROUPS)
        except FileFormatError as error:
            refused += str(path) in str(error)
    assert refused > 200  # a byte of padding may be anything


def without_checksums(archive: bytes) -> bytes:
    """The same archive with its checksums computed anew, as someone who damages it on purpose would."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        parts = {}
        for member in old.infolist():
            begin = member.header_offset + 30 + len(member.filename.encode())
            begin += struct.unpack("<H", archive[member.header_offset + 28 : member.header_offset + 30])[0]
            parts[member.filename] = archive[begin : begin + member.file_size]
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return room.getvalue()
