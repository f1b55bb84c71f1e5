import { type AutomationGraph, type AutomationNode, branchesOf } from './automation-graph.js';
import type { GraphFaults } from './graph-faults.js';
import { reachableFrom } from './graph-order.js';

/** Adds the faults that keep the graph from being run: its triggers, unreachable nodes, missing and superfluous edges. */
export function judgeStructure(graph: AutomationGraph, faults: GraphFaults): void {
  const triggers = graph.nodes.flatMap((node, place) => (node.type === 'trigger' ? [{ node, place }] : []));
  const [first, ...others] = triggers;
  if (first === undefined) faults.add('nodes', 'must contain a trigger');
  for (const { place } of others) faults.add(`nodes[${place}]`, 'must be the only trigger');
  if (first !== undefined) judgeReach(graph, first.node, faults);
  for (const [place, node] of graph.nodes.entries()) judgeEdgesFrom(graph, node, place, faults);
  judgeEdgesTo(graph, faults);
}

function judgeReach(graph: AutomationGraph, trigger: AutomationNode, faults: GraphFaults): void {
  const reached = reachableFrom(trigger.id, graph.edges);
  for (const [place, { id, type }] of graph.nodes.entries()) {
    if (type !== 'trigger' && !reached.has(id))
      faults.add(`nodes[${place}]`, 'cannot be reached from the trigger');
  }
}

/** A step without branches needs no edge; one with branches needs an edge for each. */
function judgeEdgesFrom(
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
      faults.add(`edges[${index}].branch`, `must be left out: a ${type} has no branches`);
    else if (branches !== null && (branch === null || !branches.includes(branch)))
      faults.add(`edges[${index}].branch`, `must be one of ${branches.join(', ')}`);
    else if (seen.has(branch))
      faults.add(
        `edges[${index}]`,
        branch === null
          ? 'must be the only edge from its source'
          : `must be the only edge for the branch ${branch}`,
      );
    seen.add(branch);
  }
  for (const branch of branches ?? []) {
    if (!seen.has(branch)) faults.add(`nodes[${place}]`, `needs an edge for the branch ${branch}`);
  }
}

function judgeEdgesTo({ nodes, edges }: AutomationGraph, faults: GraphFaults): void {
  const triggers = new Set(nodes.filter(({ type }) => type === 'trigger').map(({ id }) => id));
  for (const [index, { target }] of edges.entries()) {
    if (triggers.has(target)) faults.add(`edges[${index}].target`, 'must not be the trigger');
  }
}
