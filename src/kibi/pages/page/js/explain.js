// Words on a buffer of the plan: who made it, who reads it, and why it cannot die yet.

import { spans, whole } from "./dom.js";
import { nodeLabel, record, tensorOf } from "./record.js";

/** The name of a buffer: its tensor and rows, or the operators whose scratch it is. */
export function bufferName(buffer) {
  if (buffer.tensor < 0) return `scratch of ${buffer.nodes.map(nodeLabel).join(" and ")}`;
  const tensor = tensorOf(buffer.tensor);
  if (buffer.rows === tensor.rows) return tensor.name;
  const last = buffer.firstRow + buffer.rows - 1;
  return buffer.rows === 1 ? `${tensor.name}, row ${buffer.firstRow}` :
    `${tensor.name}, rows ${buffer.firstRow} to ${last}`;
}

/** Who makes the bytes of a buffer. */
export function madeBy(buffer) {
  if (buffer.tensor < 0) return "the operator itself";
  const maker = tensorOf(buffer.tensor).maker;
  return maker < 0 ? "the caller" : nodeLabel(maker);
}

/** The last reader of a buffer as (node, step); null for scratch, and for rows that no step reads. */
function lastReader(buffer) {
  return buffer.reads.reduce((last, read) => (last === null || read[1] > last[1] ? read : last), null);
}

/** Why a buffer lives until its end, in a few words. */
export function neededUntil(buffer, steps) {
  if (buffer.tensor < 0) return `step ${whole(buffer.end - 1)}: the operator ends`;
  const tensor = tensorOf(buffer.tensor);
  if (tensor.role === "output" && buffer.end === steps.count) return "the end: it is an output of the model";
  const reader = lastReader(buffer);
  if (reader === null) return `step ${whole(buffer.end - 1)}: no step reads it`;
  if (reader[1] < buffer.end - 1) return `step ${whole(buffer.end - 1)}: its tensor is one piece`;
  return `step ${whole(reader[1])}: ${nodeLabel(reader[0])} reads it`;
}

/** A paragraph on a buffer at a step. */
export function explainBuffer(buffer, step, steps) {
  const place = `${whole(buffer.size)} bytes at ${whole(buffer.offset)}`;
  if (buffer.tensor < 0) {
    return `${bufferName(buffer)}: ${place}, from step ${whole(buffer.start)} to ${whole(buffer.end - 1)}, ` +
      "while the operator runs.";
  }
  const maker = tensorOf(buffer.tensor).maker;
  const made = maker < 0 ? "The caller writes it before the first step." :
    `Made at step ${whole(buffer.start)} by ${nodeLabel(maker)}.`;
  const readers = [...buffer.reads].sort((one, other) => one[1] - other[1]).map(([node, last]) =>
    `${nodeLabel(node)} (last at step ${whole(last)})`);
  const read = readers.length ? `Read by ${readers.join(" and ")}.` : "No operator reads it.";
  const waits = step >= buffer.start && step < buffer.end ? ` It cannot die before ${neededUntil(buffer, steps)}.` : "";
  return `${bufferName(buffer)}: ${place}. ${made} ${read}${waits}`;
}

/** What a step does, in words. */
export function explainStep(step, steps) {
  const node = steps.nodes[step];
  const { steps: rows } = record.nodes[node];
  const row = rows > 1 ? `row step ${whole(steps.rows[step] + 1)} of ${whole(rows)} of ` : "";
  const live = record.plan.live_bytes[step];
  const peak = record.plan.peak;
  const level = peak && live === peak.live_bytes ? ", the peak" : "";
  return `Step ${whole(step)} of ${whole(steps.count - 1)}: ${row}${nodeLabel(node)}. ` +
    `${whole(live)} of ${whole(record.plan.arena_bytes)} bytes live${level}.`;
}

/** The live buffers by tensor, the largest first: tensor, rows, bytes, and the last step of all. */
export function groupByTensor(buffers) {
  const groups = new Map();
  for (const buffer of buffers) {
    const key = buffer.tensor < 0 ? `scratch ${buffer.index}` : buffer.tensor;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(buffer);
  }
  return [...groups.values()]
    .map((members) => ({ members, size: members.reduce((sum, each) => sum + each.size, 0) }))
    .sort((one, other) => other.size - one.size);
}

/** The rows of a group in words. */
export function rowsOf(members) {
  if (members[0].tensor < 0) return "";
  const tensor = tensorOf(members[0].tensor);
  const rows = members.flatMap((each) => Array.from({ length: each.rows }, (_, k) => each.firstRow + k));
  return rows.length === tensor.rows ? (rows.length === 1 ? "all" : `all ${whole(rows.length)}`) :
    `${spans(rows)} of ${whole(tensor.rows)}`;
}
