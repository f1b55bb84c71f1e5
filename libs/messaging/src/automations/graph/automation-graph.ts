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
  /** Of a step with branches. */
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
