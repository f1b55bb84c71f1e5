import { type AutomationGraph, type AutomationNode, branchesOf } from './automation-graph.js';
import type { GraphFaults } from './graph-faults.js';
import { reachableFrom } from './graph-walk.js';

/** Names all that keeps the graph from being walked: its trigger, what nothing leads to, ways that are missing or too many. */
export function judgeStructure(graph: AutomationGraph, faults: GraphFaults): void {
  const triggers = graph.nodes.flatMap((node, place) => (node.type === 'trigger' ? [{ node, place }] : []));
  const [first, ...others] = triggers;
  if (first === undefined) faults.add('nodes', 'must hold a trigger');
  for (const { place } of others) faults.add(`nodes[${place}]`, 'is a second trigger');
  if (first !== undefined) judgeReach(graph, first.node, faults);
  for (const [place, node] of graph.nodes.entries()) judgeWaysOut(graph, node, place, faults);
  judgeWaysInto(graph, faults);
}

function judgeReach(graph: AutomationGraph, trigger: AutomationNode, faults: GraphFaults): void {
  const reached = reachableFrom(trigger.id, graph.edges);
  for (const [place, { id, type }] of graph.nodes.entries()) {
    if (type !== 'trigger' && !reached.has(id))
      faults.add(`nodes[${place}]`, 'is not reached from the trigger');
  }
}

/** A step with one way out may be the last one; one with branches needs all of them. */
function judgeWaysOut(
  { edges }: AutomationGraph,
  { id, type }: AutomationNode,
  place: number,
  faults: GraphFaults,
): void {
  const branches = branchesOf(type);
  const seen = new Set<string | null>();
  for (const [index, { source, branch }] of edges.entries()) {
    if (source !== id) continue;
    if (branches === null && branch !== null)
      faults.add(`edges[${index}].branch`, `is not for a ${type}, which has one way out`);
    else if (branches !== null && (branch === null || !branches.includes(branch)))
      faults.add(`edges[${index}].branch`, `must be one of ${branches.join(', ')}`);
    else if (seen.has(branch))
      faults.add(
        `edges[${index}]`,
        branch === null ? 'is a second way out' : `is a second way for ${branch}`,
      );
    seen.add(branch);
  }
  for (const branch of branches ?? []) {
    if (!seen.has(branch)) faults.add(`nodes[${place}]`, `has no way for ${branch}`);
  }
}

function judgeWaysInto({ nodes, edges }: AutomationGraph, faults: GraphFaults): void {
  const triggers = new Set(nodes.filter(({ type }) => type === 'trigger').map(({ id }) => id));
  for (const [index, { target }] of edges.entries()) {
    if (triggers.has(target)) faults.add(`edges[${index}].target`, 'leads back to the trigger');
  }
}
