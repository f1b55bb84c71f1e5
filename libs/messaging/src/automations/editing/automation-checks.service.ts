import { Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery, ProjectWordings } from '#access';
import {
  type Awaited,
  CustomFieldsQuery,
  FieldUpdatesService,
  type NamedTopic,
  type PropertyTest,
  SegmentsQuery,
  type SegmentView,
  SubscriberRulesService,
  TopicsQuery,
  TriggersService,
} from '#audience';
import { boundedErrors, Clock, DomainValidationError, newId, type ProjectScope } from '#kernel';
import { OutgoingHttp } from '#platform';
import type { Wording } from '#wording';
import { CampaignContentsQuery } from '../../campaigns/campaign-contents.query.js';
import type { CampaignContent } from '../../content/document/content-compiler.js';
import { contentIn, pathOf } from '../../content/document/translated-content.js';
import { ContentProcessesService, footerOf } from '../../content/processes/content-processes.service.js';
import { mapTexts, tagsIn, unknownVariables } from '../../content/merge/merge-review.js';
import type { MailReview } from '../../content/document/content-review.js';
import type { Automation, AutomationCheck, AutomationWarning, TriggerType } from '../automation.js';
import type { VersionReferences } from '../automation.repository.js';
import {
  type AutomationGraph,
  type AutomationNode,
  checkStructure,
  isOf,
  type NodeOf,
  readGraph,
} from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/config-reader.js';
import { type EmailConfig, namedIn, readConfig } from '../graph/node-config.js';

/** Limit of the warnings in an answer. */
const MAX_WARNINGS = 100;
/** Limit for resolving the hosts of all webhooks; the rest are checked when they are called. */
const RESOLVING_MS = 5_000;
/** Events of so many days are searched for the paths that merge tags name. */
const EVENT_DAYS = 90;
const IN_CONFIG = /^nodes\[(\d+)\]\.config/;
const NOT_ACTIVE = 'is not an active topic';

/** An automation's references, looked up. */
export interface ResolvedAutomation extends VersionReferences {
  readonly eventName: string | null;
  readonly eventWhere: readonly PropertyTest[];
  readonly triggerSegmentId: string | null;
  /** The event or rules of each of `waitIds`. */
  readonly awaited: ReadonlyMap<string, Awaited>;
}

/** Facts of the project that content is checked against. */
interface MailRules {
  readonly project: Project;
  readonly wording: Wording;
  readonly customKeys: readonly string[];
}

/** The content of a mail in one language. */
type MailContent = CampaignContent & Pick<EmailConfig, 'fromName'>;

/** A check in progress: its faults, and the references found so far. */
interface Checking {
  readonly scope: ProjectScope;
  readonly automation: Automation;
  readonly faults: GraphFaults;
  readonly mailRules: MailRules;
  readonly topicIds: Set<string>;
  readonly segmentIds: Set<string>;
}

/** Checks automations before their activation: collects all faults, and the content that mails lose. */
@Injectable()
export class AutomationChecksService {
  constructor(
    private readonly topics: TopicsQuery,
    private readonly segments: SegmentsQuery,
    private readonly rules: SubscriberRulesService,
    private readonly projects: ProjectsQuery,
    private readonly wordings: ProjectWordings,
    private readonly customFields: CustomFieldsQuery,
    private readonly fieldUpdates: FieldUpdatesService,
    private readonly contents: CampaignContentsQuery,
    private readonly processes: ContentProcessesService,
    private readonly triggers: TriggersService,
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** Checks in the transaction of the activation, which holds all that the automation refers to. */
  async check(
    scope: ProjectScope,
    automation: Automation,
  ): Promise<{ readonly resolved: ResolvedAutomation } | { readonly checks: readonly AutomationCheck[] }> {
    const faults = new GraphFaults();
    if (automation.nodes === null) faults.add('nodes', 'is required');
    const { graph, errors } = readGraph(automation);
    if (errors !== undefined) return { checks: checksOf(errors, null) };
    const mailRules = await this.#mailRules(scope);
    const checking = {
      scope,
      automation,
      faults,
      mailRules,
      topicIds: new Set<string>(),
      segmentIds: new Set<string>(),
    };
    checkStructure(graph, faults);
    await this.#checkHosts(graph, faults);
    const resolved = await this.#resolve(checking, graph);
    return faults.isEmpty ? { resolved } : { checks: checksOf(faults.byPath, graph) };
  }

  async #resolve(checking: Checking, graph: AutomationGraph): Promise<ResolvedAutomation> {
    const { faults, automation, topicIds, segmentIds } = checking;
    const { triggerType, triggerTopicId } = automation;
    if (triggerType === null) faults.add('triggerType', 'is required');
    if (triggerType === 'subscriber_joins_list' && triggerTopicId === null)
      faults.add('triggerTopicId', 'is required for subscriber_joins_list');
    if (triggerTopicId !== null) await this.#topicById(checking, triggerTopicId);
    const mailTopicIds: (string | null)[] = [];
    const mailTemplateIds: (string | null)[] = [];
    const waitIds: (string | null)[] = [];
    const awaited = new Map<string, Awaited>();
    let trigger: Pick<ResolvedAutomation, 'eventName' | 'eventWhere' | 'triggerSegmentId'> = {
      eventName: null,
      eventWhere: [],
      triggerSegmentId: null,
    };
    for (const [place, node] of graph.nodes.entries()) {
      const path = `nodes[${place}].config`;
      if (isOf(node, 'trigger')) trigger = await this.#checkTrigger(checking, node, path);
      else if (!isOf(node, 'email')) await this.#checkNode(checking, node, path);
      const mail = isOf(node, 'email') ? await this.#checkMail(checking, node, path) : null;
      mailTopicIds.push(mail?.topicId ?? null);
      mailTemplateIds.push(mail?.templateId ?? null);
      const wait = isOf(node, 'wait_for') ? readConfig(node, path, new GraphFaults()) : null;
      const waitId = wait === null ? null : newId();
      waitIds.push(waitId);
      if (wait !== null && waitId !== null) awaited.set(waitId, wait.awaited);
    }
    const used = { topicIds: [...topicIds], segmentIds: [...segmentIds] };
    return { ...trigger, ...used, mailTopicIds, mailTemplateIds, waitIds, awaited };
  }

  async #checkTrigger(checking: Checking, node: NodeOf<'trigger'>, path: string) {
    const {
      faults,
      automation: { triggerType },
    } = checking;
    const config = readConfig(node, path, faults);
    const isBySegment = triggerType === 'segment_entered' || triggerType === 'segment_left';
    const { segmentKey, eventName, exitWhen } = namedIn(node);
    if (exitWhen !== null) await this.#checkRules(checking, exitWhen, `${path}.exitWhen`);
    if (isBySegment && segmentKey === null)
      faults.add(`${path}.segmentKey`, `is required for ${triggerType}`);
    if (triggerType === 'custom_event' && eventName === null)
      faults.add(`${path}.eventName`, 'is required for custom_event');
    const eventWhere = config?.where ?? [];
    if (triggerType !== 'custom_event' && eventWhere.length > 0)
      faults.add(`${path}.where`, 'must only be used with custom_event');
    const segment = await this.#segment(checking, segmentKey, `${path}.segmentKey`);
    return { eventName: config?.eventName ?? null, eventWhere, triggerSegmentId: segment?.id ?? null };
  }

  /** The topic and template of the mail; null when there is a fault, or no template. */
  async #checkMail(
    checking: Checking,
    node: NodeOf<'email'>,
    path: string,
  ): Promise<{ readonly topicId: string | null; readonly templateId: string | null }> {
    const { scope, faults, mailRules } = checking;
    readConfig(node, path, faults);
    const { mail } = namedIn(node);
    const topicId = await this.#topicOfMail(checking, node, path);
    const found = mail === null ? null : await this.#contentOf(scope, mail);
    if (found === null || mail === null) return { topicId, templateId: null };
    faults.addAll(found.faults, `${path}.`);
    for (const { locale, content } of found.contents) {
      const { faults: inContent } = await this.#review(scope, content, mailRules);
      for (const [inner, fault] of Object.entries(inContent)) {
        const isOwn = mail.templateKey === null || mail[inner as keyof EmailConfig] != null;
        if (isOwn) faults.add(`${path}.${inner}`, fault);
        else faults.add(`${path}.templateKey`, `has a fault: ${pathOf(locale)}${inner} ${fault}`);
      }
    }
    return { topicId, templateId: found.templateId };
  }

  /** A mail's content in all its languages, its template's where it names one, whose faults are by the fields of the config. */
  async #contentOf(
    scope: ProjectScope,
    mail: EmailConfig,
  ): Promise<{
    readonly contents: readonly { readonly locale: string | null; readonly content: MailContent }[];
    readonly templateId: string | null;
    readonly faults: Readonly<Record<string, string>>;
  }> {
    try {
      const source = { ...mail, translations: {}, templateContentId: null };
      const { content, templates } = await this.contents.of(scope, source);
      const { fromName } = mail;
      const contents = [null, ...Object.keys(content.translations)].map((locale) => {
        return { locale, content: { ...contentIn(content, locale), fromName } };
      });
      return { contents, templateId: templates.own?.templateId ?? null, faults: {} };
    } catch (error) {
      if (error instanceof DomainValidationError)
        return { contents: [], templateId: null, faults: error.errors };
      throw error;
    }
  }

  /** The topic of the mail; null when there is a fault. */
  async #topicOfMail(checking: Checking, node: NodeOf<'email'>, path: string): Promise<string | null> {
    const { faults, automation } = checking;
    const { topicKey } = namedIn(node);
    if (topicKey !== null) {
      const topic = await this.#topic(checking, topicKey, `${path}.topicKey`, { mustBeActive: true });
      return topic?.id ?? null;
    }
    if (automation.triggerTopicId === null)
      return faults.add(`${path}.topicKey`, 'is required where the automation has no triggerTopicId');
    return automation.triggerTopicId;
  }

  async #checkNode(checking: Checking, node: AutomationNode, path: string): Promise<void> {
    const { scope, faults, mailRules } = checking;
    readConfig(node, path, faults);
    const { rules, topicKey, segmentKey, body } = namedIn(node);
    if (isOf(node, 'condition') || isOf(node, 'goal') || isOf(node, 'wait_for')) {
      if (rules !== null) await this.#checkRules(checking, rules, `${path}.rules`);
    } else if (isOf(node, 'topic_action')) {
      const isJoining = node.config['action'] === 'subscribe';
      if (topicKey !== null)
        await this.#topic(checking, topicKey, `${path}.topicKey`, { mustBeActive: isJoining });
    } else if (isOf(node, 'segment_action')) {
      const segment = await this.#segment(checking, segmentKey, `${path}.segmentKey`);
      if (segment?.type === 'DYNAMIC') faults.add(`${path}.segmentKey`, 'must be a STATIC segment');
    } else if (isOf(node, 'webhook')) {
      const { customKeys } = mailRules;
      const { url, headers } = node.config;
      mapTexts({ url, headers }, (text, at) => {
        if (tagsIn(text).length > 0) faults.add(`${path}${at}`, 'has a merge tag, which only body may have');
        return text;
      });
      faults.addAll(await this.processes.bodyFaults(scope, { body, customKeys }), `${path}.`);
    } else if (isOf(node, 'update_field')) await this.#checkFieldUpdate(checking, node, path);
  }

  async #checkFieldUpdate(
    { scope, faults, mailRules: { customKeys } }: Checking,
    node: NodeOf<'update_field'>,
    path: string,
  ): Promise<void> {
    const config = readConfig(node, path, new GraphFaults());
    const { key } = namedIn(node);
    if (key === null) return;
    const found = await this.fieldUpdates.faults(scope, key, config?.value);
    faults.addAll(found, `${path}.`);
    const unknown = config?.template && unknownVariables(config.template, customKeys);
    const [name] = unknown?.filter((one) => !one.startsWith('event.')) ?? [];
    if (name !== undefined) faults.add(`${path}.value`, `has {{ ${name} }}, which is not known`);
  }

  async #checkRules(checking: Checking, rules: string, path: string): Promise<void> {
    const { scope, faults, segmentIds, topicIds } = checking;
    const judged = await this.rules.judge(scope, rules, path);
    if ('errors' in judged) return faults.addAll(judged.errors);
    for (const id of judged.segmentIds) segmentIds.add(id);
    await this.#checkSegments(checking, judged.segmentIds, path);
    for (const { id } of await this.topics.held(scope, judged.topicIds)) topicIds.add(id);
  }

  /** Subscribers can join active topics only, and get mail of those only. */
  async #topic(
    { scope, faults, topicIds }: Checking,
    key: string,
    path: string,
    { mustBeActive }: { readonly mustBeActive: boolean },
  ): Promise<NamedTopic | null> {
    const id = await this.topics.idOf(scope, key);
    const [topic] = id === null ? [] : await this.topics.held(scope, [id]);
    if (topic === undefined) return faults.add(path, 'is not a known topic');
    topicIds.add(topic.id);
    return mustBeActive && topic.status !== 'ACTIVE' ? faults.add(path, NOT_ACTIVE) : topic;
  }

  async #topicById({ scope, faults, topicIds }: Checking, id: string): Promise<void> {
    const [topic] = await this.topics.held(scope, [id]);
    if (topic === undefined) faults.add('triggerTopicId', 'is not a known topic');
    else if (topic.status !== 'ACTIVE') faults.add('triggerTopicId', NOT_ACTIVE);
    else topicIds.add(topic.id);
  }

  async #checkSegments({ scope, faults }: Checking, ids: readonly string[], path: string): Promise<void> {
    for (const { name, fault } of await this.rules.faultsOf(scope, ids))
      faults.add(path, `names the segment ${name}, whose rules are no longer valid (${fault})`);
  }

  async #segment(checking: Checking, key: string | null, path: string): Promise<SegmentView | null> {
    if (key === null) return null;
    const { scope, faults, segmentIds } = checking;
    const segment = await this.segments.find(scope, key);
    if (segment === null) return faults.add(path, 'is not a known segment');
    segmentIds.add(segment.id);
    await this.#checkSegments(checking, [segment.id], path);
    return segment.status === 'ACTIVE' ? segment : faults.add(path, 'is not an active segment');
  }

  /** Resolves one name after the other, so that no automation occupies the resolver. */
  async #checkHosts({ nodes }: AutomationGraph, faults: GraphFaults): Promise<void> {
    const signal = AbortSignal.timeout(RESOLVING_MS);
    for (const [place, node] of nodes.entries()) {
      if (!isOf(node, 'webhook') || signal.aborted) continue;
      const path = `nodes[${place}].config`;
      const config = readConfig(node, path, new GraphFaults());
      const fault = config && (await this.http.hostFault(config.url, signal));
      if (fault !== null) faults.add(`${path}.url`, fault);
    }
  }

  /** Checks webhooks' bodies before an activation, whose check then finds the results at hand. Not within a transaction. */
  async checkBodies(scope: ProjectScope, { nodes }: AutomationGraph): Promise<void> {
    const { customKeys } = await this.#mailRules(scope);
    for (const node of nodes)
      if (isOf(node, 'webhook'))
        await this.processes.bodyFaults(scope, { body: namedIn(node).body, customKeys });
  }

  /**
   * Content that mails lose, and paths of events that come out empty, each by its path; they do not prevent an activation. Not
   * within a transaction.
   */
  async warnings(
    scope: ProjectScope,
    { nodes }: AutomationGraph,
    triggerType: TriggerType | null,
  ): Promise<readonly AutomationWarning[]> {
    const rules = await this.#mailRules(scope);
    const warnings: AutomationWarning[] = [];
    for (const [place, node] of nodes.entries()) {
      const { mail } = namedIn(node);
      if (!isOf(node, 'email') || mail === null) continue;
      for (const { locale, content } of (await this.#contentOf(scope, mail)).contents) {
        const { removed } = await this.#review(scope, content, rules);
        const pieces =
          mail.templateKey === null
            ? removed
            : removed.map((piece) => `templateKey: ${pathOf(locale)}${piece}`);
        warnings.push(...pieces.map((piece) => warningOf(`nodes[${place}].config.`, piece)));
      }
    }
    warnings.push(...(await this.#emptyPaths(scope, nodes, triggerType)));
    const more = warnings.length - MAX_WARNINGS;
    if (more <= 0) return warnings;
    return [
      ...warnings.slice(0, MAX_WARNINGS),
      { path: 'nodes', message: `${more} more pieces of mails are left out, since no mail carries them.` },
    ];
  }

  /** Merge tags that no event of the last days would fill. */
  async #emptyPaths(
    scope: ProjectScope,
    nodes: readonly AutomationNode[],
    triggerType: TriggerType | null,
  ): Promise<readonly AutomationWarning[]> {
    const found: { readonly path: string; readonly names: readonly string[] }[] = [];
    for (const [place, node] of nodes.entries()) {
      if (!isOf(node, 'email') && !isOf(node, 'webhook') && !isOf(node, 'update_field')) continue;
      const { contentJson, ...written } = node.config;
      const texts = isOf(node, 'webhook') ? { body: node.config['body'] } : written;
      const document = documentOf(contentJson);
      const content = isWholePage(document) ? { ...texts, ...document } : { ...texts, contentJson: document };
      for (const { at, names } of await this.processes.eventPaths(scope, content))
        found.push({ path: `nodes[${place}].config.${at}`, names });
      const { mail } = namedIn(node);
      if (!isOf(node, 'email') || mail === null || mail.templateKey === null) continue;
      for (const { content: ofTemplate } of (await this.#contentOf(scope, mail)).contents)
        for (const { names } of await this.processes.eventPaths(scope, {
          ...ofTemplate,
          contentJson: documentOf(ofTemplate.contentJson),
        }))
          found.push({ path: `nodes[${place}].config.templateKey`, names });
    }
    const trigger = nodes.find((node) => isOf(node, 'trigger'));
    const name = trigger === undefined ? null : namedIn(trigger).eventName;
    // A client may give data of its own to whom it lets in.
    if (found.length === 0 || triggerType === 'manual' || triggerType === null) return [];
    if (triggerType !== 'custom_event' || name === null)
      return found.map(({ path, names }) => ({
        path,
        message: `${path} has {{ event.${names.join('.')} }}, which is empty: no event begins the runs of this automation.`,
      }));
    const since = new Date(this.clock.now().getTime() - EVENT_DAYS * 24 * 60 * 60_000);
    const paths = found.map(({ names }) => names);
    const empty = new Set(await this.triggers.pathsNeverSeen(scope, { name, since }, paths));
    return found
      .filter(({ names }) => empty.has(names.join('.')))
      .map(({ path, names }) => ({
        path,
        message: `${path} has {{ event.${names.join('.')} }}, which no event ${name} of the last ${EVENT_DAYS} days had.`,
      }));
  }

  async #mailRules(scope: ProjectScope): Promise<MailRules> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new Error('The project of this scope is gone.');
    const definitions = await this.customFields.definitions(scope);
    const { wording } = await this.wordings.of(scope, [project.defaultLocale]);
    return { project, wording, customKeys: definitions.map(({ key }) => key) };
  }

  /** The faults of a mail by their paths in the config, and the content that it loses. */
  #review(
    scope: ProjectScope,
    mail: MailContent,
    { project, wording, customKeys }: MailRules,
  ): Promise<MailReview> {
    return this.processes.reviewMail(scope, { mail, footer: footerOf(project, wording), customKeys });
  }
}

/** The document of a mail, which may be given as text. */
function documentOf(contentJson: unknown): unknown {
  if (typeof contentJson !== 'string') return contentJson;
  try {
    return JSON.parse(contentJson) as unknown;
  } catch {
    return contentJson;
  }
}

/** True for a page of HTML or MJML, whose faults are of `html` or `mjml`. */
const isWholePage = (document: unknown): document is Readonly<Record<string, unknown>> =>
  typeof document === 'object' && document !== null && !('blocks' in document);

/** The faults of a graph as the checks of a refused activation. */
function checksOf(
  faults: Readonly<Record<string, string>>,
  graph: AutomationGraph | null,
): readonly AutomationCheck[] {
  return Object.entries(boundedErrors(faults)).map(([path, fault]) => ({
    code: codeOf(path, graph),
    severity: 'CRITICAL',
    result: 'FAIL',
    path,
    message: `${path} ${fault}.`,
  }));
}

function codeOf(path: string, graph: AutomationGraph | null): string {
  const place = IN_CONFIG.exec(path)?.[1];
  if (place !== undefined) return graph?.nodes[Number(place)]?.type ?? 'graph';
  return path.startsWith('trigger') ? 'trigger' : 'graph';
}

/** `contentJson.blocks[2].html: <script>` */
function warningOf(config: string, piece: string): AutomationWarning {
  const [inner = ''] = piece.split(': ', 1);
  const path = `${config}${inner}`;
  return {
    path,
    message: `${path} holds what no mail carries, so it is left out: ${piece.slice(inner.length + 2)}`,
  };
}
