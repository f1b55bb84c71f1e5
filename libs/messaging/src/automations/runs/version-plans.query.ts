import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { nodesInOrder, type NodeType, readGraph } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/config-reader.js';
import { delayDetail, delayEnd } from '../graph/delay.js';
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
interface StoredVersion {
  readonly versionId: number;
  readonly automationId: string;
  readonly automationKey: string;
  readonly nodes: string;
  readonly edges: string;
  readonly mailTopicIds: readonly (string | null)[];
  readonly mailTemplateIds: readonly (string | null)[];
  readonly waitIds: readonly (string | null)[];
}

/** A parsed version, which runs follow. */
export interface VersionPlan extends Omit<StoredVersion, 'nodes' | 'edges'> {
  readonly scope: ProjectScope;
  readonly steps: readonly PlannedStep[];
  readonly trigger: PlannedStep<'trigger'>;
  /** The places of the steps in topological order. */
  readonly order: readonly number[];
}

/** Parses a version, which was checked when it was activated. */
function planOf(scope: ProjectScope, { nodes, edges, ...version }: StoredVersion): VersionPlan {
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

/** The beginning of a run: its position, and the steps taken by then. It has departed from the others. */
export interface RunStart {
  readonly position: number;
  readonly wakeAt: Date;
  readonly isWaiting: boolean;
  readonly steps: readonly { readonly place: number; readonly detail: string | null }[];
}

/**
 * Begins runs behind the trigger, and in the delay where one follows: so a run that is to wait is written once. Not where
 * `exitWhen` is seen before each step.
 */
export function runStart({ trigger, steps }: VersionPlan, now: Date): RunStart {
  const next = steps[trigger.next.get('') ?? -1];
  if (next === undefined) return { position: trigger.place, wakeAt: now, isWaiting: false, steps: [] };
  const begun = { place: trigger.place, detail: null };
  const isAsked = trigger.config.exitWhen !== null;
  if (next.type !== 'delay' || isAsked)
    return { position: next.place, wakeAt: now, isWaiting: false, steps: [begun] };
  const wakeAt = delayEnd(next.config, now);
  const waited = { place: next.place, detail: delayDetail(wakeAt) };
  return { position: next.place, wakeAt, isWaiting: true, steps: [begun, waited] };
}

const KEPT = 200;

/** Reads versions of automations, each once a process: a version never changes. */
@Injectable()
export class VersionPlansQuery {
  readonly #plans = new LRUCache<number, Promise<VersionPlan>>({ max: KEPT });

  constructor(private readonly database: Database) {}

  of(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    const known = this.#plans.get(versionId);
    if (known !== undefined) return known;
    const plan = this.#read(scope, versionId);
    this.#plans.set(versionId, plan);
    plan.catch(() => this.#plans.delete(versionId));
    return plan;
  }

  #read(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    return this.database.transaction(scope, async () => {
      const version = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.automation_versions as v')
        .innerJoin('messaging.automations as a', (join) =>
          join.onRef('a.id', '=', 'v.automationId').onRef('a.environmentId', '=', 'v.environmentId'),
        )
        .select(['v.id as versionId', 'a.id as automationId', 'a.automationKey'])
        .select(['v.nodes', 'v.edges', 'v.mailTopicIds', 'v.mailTemplateIds', 'v.waitIds'])
        .where('v.environmentId', '=', scope.environmentId)
        .where('v.id', '=', versionId)
        .executeTakeFirst();
      if (version === undefined) throw new Error('The version of the automation is gone.');
      return planOf(scope, version);
    });
  }
}
