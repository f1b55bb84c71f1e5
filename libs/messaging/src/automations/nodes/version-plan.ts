import type { ProjectScope } from '#kernel';
import type { NodeType } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/graph-faults.js';
import { readGraph } from '../graph/graph-reader.js';
import { nodesInOrder } from '../graph/graph-walk.js';
import { type NodeConfigs, readConfig } from '../graph/node-config.js';

interface Step<Type extends NodeType> {
  readonly type: Type;
  readonly id: string;
  /** In the list of nodes, from 0: what runs and mails refer to. */
  readonly place: number;
  readonly config: NodeConfigs[Type];
  /** Where each way out leads; the one of a step with one way is called ''. */
  readonly ways: ReadonlyMap<string, number>;
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

/** A version, ready to be run. */
export interface VersionPlan extends Omit<StoredVersion, 'nodes' | 'edges'> {
  readonly scope: ProjectScope;
  readonly steps: readonly PlannedStep[];
  readonly trigger: PlannedStep<'trigger'>;
  /** The places of the steps, each behind all that lead to it. */
  readonly order: readonly number[];
}

/** Reads what was found to be right when it was activated. */
export function planOf(scope: ProjectScope, { nodes, edges, ...version }: StoredVersion): VersionPlan {
  const { graph } = readGraph({ nodes, edges });
  if (graph === undefined) throw new Error('A stored automation is no graph.');
  const places = new Map(graph.nodes.map(({ id }, place) => [id, place]));
  const faults = new GraphFaults();
  const steps = graph.nodes.map((node, place) => {
    const ways = graph.edges.flatMap(({ source, target, branch }) =>
      source === node.id ? [[branch ?? '', places.get(target) ?? 0] as const] : [],
    );
    const config = readConfig(node, `nodes[${place}].config`, faults);
    if (config === null || !faults.isEmpty)
      throw new Error('A stored automation has a step that is not right.');
    return { id: node.id, place, type: node.type, config, ways: new Map(ways) } as PlannedStep;
  });
  const trigger = steps.find((step) => step.type === 'trigger');
  if (trigger === undefined) throw new Error('A stored automation has no trigger.');
  return { ...version, scope, steps, trigger, order: nodesInOrder(graph) };
}
