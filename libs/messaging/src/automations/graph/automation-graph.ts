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
