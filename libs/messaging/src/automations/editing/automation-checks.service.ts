import { Injectable } from '@nestjs/common';
import { type NamedTopic, SegmentsQuery, type SegmentView, SubscriberRules, TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import type { Automation } from '../automation.js';
import type { AutomationCheck } from '../automation.errors.js';
import { type AutomationGraph, type AutomationNode, isOf, type NodeOf } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/graph-faults.js';
import { checksOf } from '../graph/graph-path.js';
import { readGraph } from '../graph/graph-reader.js';
import { judgeStructure } from '../graph/graph-structure.js';
import { namedIn, readConfig } from '../graph/node-config.js';
import { MailChecks, type MailRules } from './mail-checks.service.js';
import { WebhookHosts } from './webhook-hosts.service.js';

/** What an automation refers to, as it was found. */
export interface ResolvedAutomation {
  /** By the place of the node: the topic of its mail; null where it sends none. */
  readonly mailTopicIds: readonly (string | null)[];
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
  readonly eventName: string | null;
  readonly triggerSegmentId: string | null;
}

/** A check under way: what it found, and the faults. */
interface Judgement {
  readonly scope: ProjectScope;
  readonly automation: Automation;
  readonly faults: GraphFaults;
  readonly mailRules: MailRules;
  readonly topicIds: Set<string>;
  readonly segmentIds: Set<string>;
}

const NOT_ACTIVE = 'is not an active topic';

/** Checks whether an automation can be activated; collects all faults. */
@Injectable()
export class AutomationChecks {
  constructor(
    private readonly topics: TopicsQuery,
    private readonly segments: SegmentsQuery,
    private readonly rules: SubscriberRules,
    private readonly mails: MailChecks,
    private readonly hosts: WebhookHosts,
  ) {}

  /** In the transaction that activates it, which holds all that it refers to. */
  async judge(
    scope: ProjectScope,
    automation: Automation,
  ): Promise<{ readonly resolved: ResolvedAutomation } | { readonly checks: readonly AutomationCheck[] }> {
    const faults = new GraphFaults();
    if (automation.nodes === null) faults.add('nodes', 'is required');
    const { graph, errors } = readGraph(automation);
    if (errors !== undefined) return { checks: checksOf(errors, null) };
    const mailRules = await this.mails.rules(scope);
    const judgement = {
      scope,
      automation,
      faults,
      mailRules,
      topicIds: new Set<string>(),
      segmentIds: new Set<string>(),
    };
    judgeStructure(graph, faults);
    await this.hosts.judge(graph, faults);
    const resolved = await this.#resolve(judgement, graph);
    return faults.isEmpty ? { resolved } : { checks: checksOf(faults.byPath, graph) };
  }

  async #resolve(judgement: Judgement, graph: AutomationGraph): Promise<ResolvedAutomation> {
    const { faults, automation, topicIds, segmentIds } = judgement;
    const { triggerType, triggerTopicId } = automation;
    if (triggerType === null) faults.add('triggerType', 'is required');
    if (triggerType === 'subscriber_joins_list' && triggerTopicId === null)
      faults.add('triggerTopicId', 'is required for subscriber_joins_list');
    if (triggerTopicId !== null) await this.#topicById(judgement, triggerTopicId);
    const mailTopicIds: (string | null)[] = [];
    let trigger: Pick<ResolvedAutomation, 'eventName' | 'triggerSegmentId'> = {
      eventName: null,
      triggerSegmentId: null,
    };
    for (const [place, node] of graph.nodes.entries()) {
      const path = `nodes[${place}].config`;
      if (isOf(node, 'trigger')) trigger = await this.#judgeTrigger(judgement, node, path);
      else if (!isOf(node, 'email')) await this.#judgeNode(judgement, node, path);
      mailTopicIds.push(isOf(node, 'email') ? await this.#judgeMail(judgement, node, path) : null);
    }
    return { ...trigger, mailTopicIds, topicIds: [...topicIds], segmentIds: [...segmentIds] };
  }

  async #judgeTrigger(judgement: Judgement, node: NodeOf<'trigger'>, path: string) {
    const {
      faults,
      automation: { triggerType },
    } = judgement;
    const config = readConfig(node, path, faults);
    const isBySegment = triggerType === 'segment_entered' || triggerType === 'segment_left';
    const { segmentKey, eventName } = namedIn(node);
    if (isBySegment && segmentKey === null)
      faults.add(`${path}.segmentKey`, `is required for ${triggerType}`);
    if (triggerType === 'custom_event' && eventName === null)
      faults.add(`${path}.eventName`, 'is required for custom_event');
    const segment =
      segmentKey === null ? null : await this.#segment(judgement, segmentKey, `${path}.segmentKey`);
    return { eventName: config?.eventName ?? null, triggerSegmentId: segment?.id ?? null };
  }

  /** The topic of the mail; null when there is a fault. */
  async #judgeMail(judgement: Judgement, node: NodeOf<'email'>, path: string): Promise<string | null> {
    const { scope, faults, automation, mailRules } = judgement;
    readConfig(node, path, faults);
    const { mail, topicKey } = namedIn(node);
    const review = mail === null ? null : await this.mails.review(scope, mail, mailRules);
    for (const [inner, fault] of Object.entries(review?.faults ?? {})) faults.add(`${path}.${inner}`, fault);
    if (topicKey !== null)
      return (await this.#activeTopic(judgement, topicKey, `${path}.topicKey`))?.id ?? null;
    if (automation.triggerTopicId === null)
      return faults.add(`${path}.topicKey`, 'is required where the automation has no triggerTopicId');
    return automation.triggerTopicId;
  }

  async #judgeNode(judgement: Judgement, node: AutomationNode, path: string): Promise<void> {
    const { scope, faults, mailRules } = judgement;
    readConfig(node, path, faults);
    const { rules, topicKey, segmentKey, body } = namedIn(node);
    if (isOf(node, 'condition') || isOf(node, 'goal')) {
      if (rules !== null) await this.#judgeRules(judgement, rules, `${path}.rules`);
    } else if (isOf(node, 'topic_action')) {
      const place = `${path}.topicKey`;
      if (topicKey !== null && node.config['action'] === 'subscribe')
        await this.#activeTopic(judgement, topicKey, place);
      else if (topicKey !== null) await this.#topic(judgement, topicKey, place);
    } else if (isOf(node, 'segment_action')) {
      const segment =
        segmentKey === null ? null : await this.#segment(judgement, segmentKey, `${path}.segmentKey`);
      if (segment?.type === 'DYNAMIC') faults.add(`${path}.segmentKey`, 'must be a STATIC segment');
    } else if (isOf(node, 'webhook')) {
      for (const [inner, fault] of Object.entries(await this.mails.bodyFaults(scope, body, mailRules)))
        faults.add(`${path}.${inner}`, fault);
    }
  }

  async #judgeRules(judgement: Judgement, rules: string, path: string): Promise<void> {
    const { scope, faults, segmentIds, topicIds } = judgement;
    const judged = await this.rules.judge(scope, rules, path);
    if ('errors' in judged) return faults.addAll(judged.errors);
    for (const id of judged.segmentIds) segmentIds.add(id);
    await this.#judgeSegments(judgement, judged.segmentIds, path);
    for (const { id } of await this.topics.held(scope, judged.topicIds)) topicIds.add(id);
  }

  async #topic(judgement: Judgement, key: string, path: string): Promise<NamedTopic | null> {
    const { scope, faults, topicIds } = judgement;
    const id = await this.topics.idOf(scope, key);
    const [topic] = id === null ? [] : await this.topics.held(scope, [id]);
    if (topic === undefined) return faults.add(path, 'is not a known topic');
    topicIds.add(topic.id);
    return topic;
  }

  /** One that people can be subscribed to, and get mail of. */
  async #activeTopic(judgement: Judgement, key: string, path: string): Promise<NamedTopic | null> {
    const topic = await this.#topic(judgement, key, path);
    return topic === null || topic.status === 'ACTIVE' ? topic : judgement.faults.add(path, NOT_ACTIVE);
  }

  async #topicById({ scope, faults, topicIds }: Judgement, id: string): Promise<void> {
    const [topic] = await this.topics.held(scope, [id]);
    if (topic === undefined) faults.add('triggerTopicId', 'is not a known topic');
    else if (topic.status !== 'ACTIVE') faults.add('triggerTopicId', NOT_ACTIVE);
    else topicIds.add(topic.id);
  }

  async #judgeSegments({ scope, faults }: Judgement, ids: readonly string[], path: string): Promise<void> {
    for (const { name, fault } of await this.rules.faultsOfSegments(scope, ids))
      faults.add(path, `names the segment ${name}, whose rules are no longer valid (${fault})`);
  }

  async #segment(judgement: Judgement, key: string, path: string): Promise<SegmentView | null> {
    const { scope, faults, segmentIds } = judgement;
    const segment = await this.segments.find(scope, key);
    if (segment === null) return faults.add(path, 'is not a known segment');
    segmentIds.add(segment.id);
    await this.#judgeSegments(judgement, [segment.id], path);
    return segment.status === 'ACTIVE' ? segment : faults.add(path, 'is not an active segment');
  }
}
