import type { ProjectScope } from '#kernel';
import type { NodeType } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/graph-faults.js';
import { readGraph } from '../graph/graph-reader.js';
import { nodesInOrder } from '../graph/graph-order.js';
import { type NodeConfigs, readConfig } from '../graph/node-config.js';

interface Step<Type extends NodeType> {
  readonly type: Type;
  readonly id: string;
  /** Its index in the list of nodes: runs and mails refer to it. */
  readonly place: number;
  readonly config: NodeConfigs[Type];
  /** The place of the next step by branch; '' for a step without branches. */
  readonly next: ReadonlyMap<string, number>;
}

/** A step of one type, or of any. */
export type PlannedStep<Type extends NodeType = NodeType> = { [One in NodeType]: Step<One> }[Type];

/** A version as it is stored. */
export interface StoredVersion {
  readonly versionId: number;
  readonly automationId: string;
  readonly automationKey: string;
  readonly nodes: string;
  readonly edges: string;
  readonly mailTopicIds: readonly (string | null)[];
}

/** A version that was parsed, for its runs. */
export interface VersionPlan extends Omit<StoredVersion, 'nodes' | 'edges'> {
  readonly scope: ProjectScope;
  readonly steps: readonly PlannedStep[];
  readonly trigger: PlannedStep<'trigger'>;
  /** The places of the steps in topological order. */
  readonly order: readonly number[];
}

/** Parses a version, which was checked when it was activated. */
export function planOf(scope: ProjectScope, { nodes, edges, ...version }: StoredVersion): VersionPlan {
  const { graph } = readGraph({ nodes, edges });
  if (graph === undefined) throw new Error('The version of an automation is not a graph.');
  const places = new Map(graph.nodes.map(({ id }, place) => [id, place]));
  const faults = new GraphFaults();
  const steps = graph.nodes.map((node, place) => {
    const next = graph.edges.flatMap(({ source, target, branch }) =>
      source === node.id ? [[branch ?? '', places.get(target) ?? 0] as const] : [],
    );
    const config = readConfig(node, `nodes[${place}].config`, faults);
    if (config === null || !faults.isEmpty)
      throw new Error('The version of an automation has an invalid step.');
    return { id: node.id, place, type: node.type, config, next: new Map(next) } as PlannedStep;
  });
  const trigger = steps.find((step) => step.type === 'trigger');
  if (trigger === undefined) throw new Error('The version of an automation has no trigger.');
  return { ...version, scope, steps, trigger, order: nodesInOrder(graph) };
}
