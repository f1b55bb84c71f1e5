import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { automationOf } from '../../automations/automation.repository.js';
import { ALL_TIME } from '../../engagement/automation-counters.repository.js';
import type { LinkFigures } from './campaign-links.query.js';

/** Outcomes of mails. */
interface MailFigures {
  readonly sent: number;
  /** Sent, and not come back since. */
  readonly delivered: number;
  /** Mails that a person opened; a click counts as an open. */
  readonly uniqueOpens: number;
  readonly uniqueClicks: number;
  readonly unsubscribed: number;
}

export interface NodeReport extends MailFigures {
  readonly nodeId: string;
  readonly type: string;
  /** False for one that the present version does not have. */
  readonly isCurrent: boolean;
  readonly entered: number;
  /** Runs that went on from it or ended at it. */
  readonly left: number;
  readonly links: readonly LinkFigures[];
}

/** Runs by their status now, and the mails of all nodes. */
export interface AutomationTotals extends MailFigures {
  readonly entered: number;
  readonly active: number;
  readonly completed: number;
  readonly converted: number;
  readonly failed: number;
  readonly cancelled: number;
}

export interface AutomationReport {
  readonly automationId: string;
  readonly automationKey: string;
  readonly totals: AutomationTotals;
  readonly nodes: readonly NodeReport[];
}

type Runs = Omit<AutomationTotals, keyof MailFigures>;
type NodeFigures = Omit<NodeReport, 'nodeId' | 'type' | 'isCurrent' | 'links'>;
type Counted = NodeFigures & { readonly versionId: number; readonly place: number };
type FollowedLink = LinkFigures & { readonly nodeId: string };

interface ReportedAutomation {
  readonly id: string;
  readonly number: number;
  readonly automationKey: string;
  readonly versionId: number | null;
}

interface Version {
  readonly id: number;
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
}

const NOTHING: NodeFigures = {
  entered: 0,
  left: 0,
  sent: 0,
  delivered: 0,
  uniqueOpens: 0,
  uniqueClicks: 0,
  unsubscribed: 0,
};
const FIGURES = Object.keys(NOTHING) as readonly (keyof NodeFigures)[];

/** Reads the numbers of an automation and of its nodes from their counters. */
@Injectable()
export class AutomationReportQuery {
  constructor(private readonly database: Database) {}

  /**
   * The nodes of the version that people enter, in its order, then those of earlier ones. A node is known by its id in all versions.
   * Throws NotFoundError.
   */
  of(scope: ProjectScope, idOrKey: string): Promise<AutomationReport> {
    return this.database.read(scope, { onReplica: true }, async () => {
      const automation = await automationOf(this.database.tables(), scope, idOrKey)
        ?.select(['id', 'number', 'automationKey', 'versionId'])
        .executeTakeFirst();
      if (automation === undefined) throw new NotFoundError();
      const runs = await this.#runs(scope, automation);
      const versions = await this.#versions(scope, automation);
      const figures = await this.#figures(scope, automation);
      const links = await this.#links(scope, versions);
      const nodes = nodesOf(automation, versions, figures, links);
      const { entered: _entered, left: _left, ...mails } = added(nodes);
      const { id: automationId, automationKey } = automation;
      return { automationId, automationKey, totals: { ...runs, ...mails }, nodes };
    });
  }

  async #runs({ environmentId }: ProjectScope, { number }: ReportedAutomation): Promise<Runs> {
    const { rows } = await sql<Runs>`
      select coalesce(sum(entered), 0)::bigint as entered, coalesce(sum(entered - completed - ended), 0)::bigint as active,
        coalesce(sum(completed - converted), 0)::bigint as completed, coalesce(sum(converted), 0)::bigint as converted,
        coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(ended - failed), 0)::bigint as cancelled
      from messaging.automation_counters where automation_number = ${number} and environment_id = ${environmentId}
    `.execute(this.database.tables());
    return rows[0]!;
  }

  /** The version that people enter, and those that people came through; the newest first. */
  async #versions(
    { environmentId }: ProjectScope,
    { id, versionId }: ReportedAutomation,
  ): Promise<Version[]> {
    const { rows } = await sql<Version>`
      select v.id, (
        select json_agg(json_build_object('id', n.node -> 'id', 'type', n.node -> 'type') order by n.place)
        from json_array_elements(v.nodes::json) with ordinality n(node, place)
      ) as nodes
      from messaging.automation_versions v
      where v.automation_id = ${id} and v.environment_id = ${environmentId} and (v.id = ${versionId} or exists (
        select 1 from messaging.automation_hours h where h.version_id = v.id and h.hour = ${ALL_TIME} and h.environment_id = ${environmentId}
      ))
      order by v.version desc
    `.execute(this.database.tables());
    return rows;
  }

  async #figures({ environmentId }: ProjectScope, { id }: ReportedAutomation): Promise<Counted[]> {
    const { rows } = await sql<Counted>`
      select h.version_id, h.place, sum(h.entered)::bigint as entered, sum(h.departed)::bigint as left, sum(h.sent)::bigint as sent,
        sum(h.delivered)::bigint as delivered, sum(h.unique_opens)::bigint as unique_opens,
        sum(h.unique_clicks)::bigint as unique_clicks, sum(h.unsubscribed)::bigint as unsubscribed
      from messaging.automation_hours h
      where h.environment_id = ${environmentId} and h.hour = ${ALL_TIME} and h.version_id = any(array(
        select v.id from messaging.automation_versions v
        where v.automation_id = ${id} and v.environment_id = ${environmentId}
      ))
      group by h.version_id, h.place
    `.execute(this.database.tables());
    return rows;
  }

  /** The links of the last mails of each node, followed or not, and those of earlier ones that were followed. */
  async #links({ environmentId }: ProjectScope, versions: readonly Version[]): Promise<FollowedLink[]> {
    const mails = versions.flatMap(({ id: versionId, nodes }) =>
      nodes.flatMap(({ id, type }, place) => (type === 'email' ? { versionId, place, id } : [])),
    );
    const mail = <Field extends keyof (typeof mails)[number]>(field: Field) => mails.map((one) => one[field]);
    const { rows } = await sql<FollowedLink>`
      with mails as materialized (
        select * from unnest(${mail('versionId')}::bigint[], ${mail('place')}::smallint[], ${mail('id')}::text[])
          with ordinality m(version_id, place, node_id, rank)
      ), links as (
        select m.node_id, m.rank, u.url, u.number::int as link_number, 0 as clicked, 0 as unique_clicks
        from mails m cross join lateral (
          select s.urls from messaging.link_sets s
          where s.version_id = m.version_id and s.place = m.place and s.environment_id = ${environmentId}
          order by s.queued_on desc, s.id desc limit 1
        ) s cross join lateral unnest(s.urls) with ordinality u(url, number)
        union all
        select m.node_id, m.rank + 0.5, l.url, l.link_number, l.clicked, l.unique_clicks
        from mails m join messaging.automation_link_counters l
          on l.version_id = m.version_id and l.place = m.place and l.environment_id = ${environmentId}
      )
      select node_id, url, (array_agg(link_number order by rank, link_number))[1] as link_number, null::text as locale,
        sum(clicked)::bigint as clicks, sum(unique_clicks)::bigint as unique_clicks
      from links group by node_id, url order by clicks desc, link_number, url
    `.execute(this.database.tables());
    return rows;
  }
}

function nodesOf(
  { versionId }: ReportedAutomation,
  versions: readonly Version[],
  figures: readonly Counted[],
  links: readonly FollowedLink[],
): NodeReport[] {
  const current = versions.find(({ id }) => id === versionId)?.nodes ?? [];
  const types = new Map<string, string>();
  for (const { id, type } of [current, ...versions.map(({ nodes }) => nodes)].flat())
    if (!types.has(id)) types.set(id, type);
  const places = new Map(versions.map(({ id, nodes }) => [id, nodes]));
  const byNode = Map.groupBy(figures, ({ versionId: id, place }) => places.get(id)?.[place]?.id);
  const linksOf = Map.groupBy(links, ({ nodeId }) => nodeId);
  return [...types].flatMap(([nodeId, type]) => {
    const isCurrent = current.some(({ id }) => id === nodeId);
    const counted = byNode.get(nodeId);
    if (!isCurrent && counted === undefined) return [];
    const followed = (linksOf.get(nodeId) ?? []).map(({ nodeId: _nodeId, ...link }) => link);
    return [{ nodeId, type, isCurrent, ...added(counted ?? []), links: followed }];
  });
}

function added(nodes: readonly NodeFigures[]): NodeFigures {
  const sum: Record<keyof NodeFigures, number> = { ...NOTHING };
  for (const node of nodes) for (const name of FIGURES) sum[name] += node[name];
  return sum;
}
