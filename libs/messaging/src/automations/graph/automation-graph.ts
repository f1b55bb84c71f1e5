import { GraphFaults, isObject, isText, type JsonObject, member } from './config-reader.js';

export const NODE_TYPES = [
  'trigger',
  'email',
  'delay',
  'condition',
  'ab_split',
  'goal',
  'webhook',
  'topic_action',
  'segment_action',
  'update_field',
  'wait_for',
] as const;
export type NodeType = (typeof NODE_TYPES)[number];

/** A step as its author wrote it. `config` is checked when the automation is activated. */
export interface AutomationNode {
  readonly id: string;
  readonly type: NodeType;
  readonly config: Readonly<Record<string, unknown>>;
}

export type NodeOf<Type extends NodeType> = AutomationNode & { readonly type: Type };

export function isOf<Type extends NodeType>(node: AutomationNode, type: Type): node is NodeOf<Type> {
  return node.type === type;
}

/** Leads from one step to the next. */
export interface AutomationEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** Set where the source has branches. */
  readonly branch: string | null;
}

/** Steps and the edges between them, without cycles. */
export interface AutomationGraph {
  readonly nodes: readonly AutomationNode[];
  readonly edges: readonly AutomationEdge[];
}

const BRANCHES: Partial<Record<NodeType, readonly string[]>> = {
  condition: ['yes', 'no'],
  ab_split: ['a', 'b'],
  wait_for: ['happened', 'timeout'],
};

/** The branches of a step of this type; null when it has one edge, without a branch. */
export function branchesOf(type: NodeType): readonly string[] | null {
  return BRANCHES[type] ?? null;
}

/** The places of the nodes in topological order; those on or behind cycles are missing. */
export function nodesInOrder({ nodes, edges }: AutomationGraph): readonly number[] {
  const places = new Map(nodes.map(({ id }, place) => [id, place]));
  const open = nodes.map(() => 0);
  for (const { target } of edges) open[places.get(target) ?? 0]! += 1;
  const ordered = nodes.flatMap((_, place) => (open[place] === 0 ? [place] : []));
  const edgesFrom = Map.groupBy(edges, ({ source }) => source);
  for (const place of ordered) {
    for (const { target } of edgesFrom.get(nodes[place]?.id ?? '') ?? []) {
      const next = places.get(target);
      if (next === undefined) continue;
      open[next]! -= 1;
      if (open[next] === 0) ordered.push(next);
    }
  }
  return ordered;
}

/** The places of the nodes on cycles. */
export function nodesOnCycles(graph: AutomationGraph): readonly number[] {
  const ordered = new Set(nodesInOrder(graph));
  const rest = graph.nodes.flatMap((node, place) => (ordered.has(place) ? [] : [{ node, place }]));
  const inRest = new Set(rest.map(({ node }) => node.id));
  const edges = graph.edges.filter(({ source, target }) => inRest.has(source) && inRest.has(target));
  // A node that only follows a cycle is not on it.
  return rest.filter(({ node }) => reachableFrom(node.id, edges).has(node.id)).map(({ place }) => place);
}

/** The ids of all nodes that can be reached from the node; its own only when it is on a cycle. */
export function reachableFrom(id: string, edges: readonly AutomationEdge[]): ReadonlySet<string> {
  const edgesFrom = Map.groupBy(edges, ({ source }) => source);
  const reached = new Set<string>();
  const open = [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const { target } of edgesFrom.get(at) ?? []) {
      if (reached.has(target)) continue;
      reached.add(target);
      open.push(target);
    }
  }
  return reached;
}

export const MAX_NODES = 200;
const MAX_EDGES = 400;
const MAX_ID = 100;
/** Deeper nesting cannot be serialised as JSON again. */
const MAX_DEPTH = 100;

/** An entry of a list, as far as it could be read: the id alone is enough to find duplicates. */
interface Read<Item> {
  readonly id: string | null;
  readonly item: Item | null;
}

/** Two JSON arrays as text; null stands for an empty one. */
export interface GraphTexts {
  readonly nodes: string | null;
  readonly edges: string | null;
}

/** Reads `nodes` and `edges`, also of a graph that cannot be activated yet. Errors are by path (`nodes[3].type`). */
export function readGraph(
  texts: GraphTexts,
):
  | { readonly graph: AutomationGraph; readonly errors?: never }
  | { readonly errors: Readonly<Record<string, string>>; readonly graph?: never } {
  const faults = new GraphFaults();
  const nodes = readList(texts.nodes ?? '[]', 'nodes', MAX_NODES, faults, readNode);
  const edges = readList(texts.edges ?? '[]', 'edges', MAX_EDGES, faults, readEdge);
  refuseDuplicates('nodes', nodes, faults);
  refuseDuplicates('edges', edges, faults);
  refuseDanglingEdges(nodes, edges, faults);
  if (!faults.isEmpty) return { errors: faults.byPath };
  const graph = { nodes: itemsOf(nodes), edges: itemsOf(edges) };
  for (const place of nodesOnCycles(graph)) faults.add(`nodes[${place}]`, 'is on a cycle');
  return faults.isEmpty ? { graph } : { errors: faults.byPath };
}

function readList<Item>(
  text: string,
  path: string,
  max: number,
  faults: GraphFaults,
  item: (value: JsonObject, path: string, faults: GraphFaults) => Read<Item>,
): readonly Read<Item>[] {
  const list = parse(text);
  if (list === undefined) faults.add(path, 'is not valid JSON');
  else if (!Array.isArray(list)) faults.add(path, 'must be an array');
  else if (list.length > max) faults.add(path, `must contain at most ${max} entries`);
  else
    return list.map((value: unknown, index) =>
      isObject(value)
        ? item(value, `${path}[${index}]`, faults)
        : { id: faults.add(`${path}[${index}]`, 'must be an object'), item: null },
    );
  return [{ id: null, item: null }];
}

/** Undefined for invalid JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function readNode(value: JsonObject, path: string, faults: GraphFaults): Read<AutomationNode> {
  onlyMembers(value, ['id', 'type', 'config', 'position'], path, faults);
  const id = readId(member(value, 'id'), `${path}.id`, faults);
  const given = member(value, 'type');
  const type = NODE_TYPES.find((known) => known === given);
  if (type === undefined)
    faults.add(
      `${path}.type`,
      given === undefined ? 'is required' : `must be one of ${NODE_TYPES.join(', ')}`,
    );
  const config = member(value, 'config') ?? {};
  if (!isObject(config)) faults.add(`${path}.config`, 'must be an object');
  if (isDeeper(config, MAX_DEPTH))
    faults.add(`${path}.config`, `must be nested at most ${MAX_DEPTH} levels deep`);
  const position = member(value, 'position') ?? {};
  if (!isObject(position)) faults.add(`${path}.position`, 'must be an object');
  const isFaulty = id === null || type === undefined || !isObject(config);
  return { id, item: isFaulty ? null : { id, type, config } };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function readEdge(value: JsonObject, path: string, faults: GraphFaults): Read<AutomationEdge> {
  onlyMembers(value, ['id', 'source', 'target', 'branch'], path, faults);
  const id = readId(member(value, 'id'), `${path}.id`, faults);
  const source = readId(member(value, 'source'), `${path}.source`, faults);
  const target = readId(member(value, 'target'), `${path}.target`, faults);
  const branch = member(value, 'branch') ?? null;
  if (branch !== null && !isText(branch)) faults.add(`${path}.branch`, 'must be a string');
  if (id === null || source === null || target === null) return { id, item: null };
  return { id, item: { id, source, target, branch: isText(branch) ? branch : null } };
}

function readId(value: unknown, path: string, faults: GraphFaults): string | null {
  if (value === undefined || value === null || value === '') return faults.add(path, 'is required');
  if (!isText(value)) return faults.add(path, 'must be a string');
  if (value.length > MAX_ID) return faults.add(path, `must be at most ${MAX_ID} characters`);
  return value;
}

function onlyMembers(value: JsonObject, known: readonly string[], path: string, faults: GraphFaults): void {
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) faults.add(`${path}.${name}`, 'is not a known field');
  }
}

function refuseDuplicates(path: string, read: readonly Read<unknown>[], faults: GraphFaults): void {
  const seen = new Set<string>();
  for (const [index, { id }] of read.entries()) {
    if (id === null) continue;
    if (seen.has(id)) faults.add(`${path}[${index}].id`, 'is used twice');
    seen.add(id);
  }
}

function refuseDanglingEdges(
  nodes: readonly Read<AutomationNode>[],
  edges: readonly Read<AutomationEdge>[],
  faults: GraphFaults,
): void {
  // The edge may mean a node whose id could not be read.
  if (nodes.some(({ id }) => id === null)) return;
  const ids = new Set(nodes.map(({ id }) => id));
  for (const [index, { item: edge }] of edges.entries()) {
    for (const end of ['source', 'target'] as const) {
      if (edge !== null && !ids.has(edge[end]))
        faults.add(`edges[${index}].${end}`, 'is not the id of a node');
    }
  }
}

function itemsOf<Item>(read: readonly Read<Item>[]): Item[] {
  return read.flatMap(({ item }) => item ?? []);
}

/** Adds the faults that keep the graph from being run: its triggers, unreachable nodes, missing and superfluous edges. */
export function checkStructure(graph: AutomationGraph, faults: GraphFaults): void {
  const triggers = graph.nodes.flatMap((node, place) => (node.type === 'trigger' ? [{ node, place }] : []));
  const [first, ...others] = triggers;
  if (first === undefined) faults.add('nodes', 'must contain a trigger');
  for (const { place } of others) faults.add(`nodes[${place}]`, 'must be the only trigger');
  if (first !== undefined) checkReach(graph, first.node, faults);
  for (const [place, node] of graph.nodes.entries()) checkEdgesFrom(graph, node, place, faults);
  checkEdgesTo(graph, faults);
}

function checkReach(graph: AutomationGraph, trigger: AutomationNode, faults: GraphFaults): void {
  const reached = reachableFrom(trigger.id, graph.edges);
  for (const [place, { id, type }] of graph.nodes.entries()) {
    if (type !== 'trigger' && !reached.has(id))
      faults.add(`nodes[${place}]`, 'cannot be reached from the trigger');
  }
}

/** A step without branches needs no edge; one with branches needs an edge for each. */
function checkEdgesFrom(
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

function checkEdgesTo({ nodes, edges }: AutomationGraph, faults: GraphFaults): void {
  const triggers = new Set(nodes.filter(({ type }) => type === 'trigger').map(({ id }) => id));
  for (const [index, { target }] of edges.entries()) {
    if (triggers.has(target)) faults.add(`edges[${index}].target`, 'must not be the trigger');
  }
}
