import type { Type } from '@nestjs/common';
import { consentProof, SignUpService, TopicsService, type TopicView } from '#audience';
import { type EmailAddress, type Environment, parseEmailAddress, type ProjectScope } from '#kernel';
import type { Publisher } from '#platform';
import { prepareProject } from '#testing/programs/system';
import { MessagingFixture } from '../messaging.fixture.js';
import type { AutomationFields } from './automation.js';
import { AutomationsQuery, type AutomationView } from './automations.query.js';
import { AutomationsService } from './editing/automations.service.js';
import { type Execution, ExecutionsQuery } from './runs/executions.query.js';
import { AutomationEntriesService } from './runs/automation-entries.service.js';
import { AutomationRunner } from './runs/automation-runner.job.js';
import { WebhookCaller } from './runs/webhook-caller.job.js';

export interface NodeSketch {
  readonly id: string;
  readonly type: string;
  readonly config?: object;
}

export const contentJson = JSON.stringify({
  blocks: [{ type: 'text', html: '<p>Hello {{ subscriber.first_name | default: "you" }}!</p>' }],
});
export const PROOF = consentProof('API_KEY', null);

export const trigger = (config: object = {}): NodeSketch => ({ id: 'start', type: 'trigger', config });
export const mail = (id: string, config: object = {}): NodeSketch => ({
  id,
  type: 'email',
  config: { subject: `Mail ${id}`, contentJson, ...config },
});
export const delay = (id: string, duration: string): NodeSketch => ({
  id,
  type: 'delay',
  config: { duration },
});
export const rules = (where: object) => ({ version: 1, where });
export const where = (field: string, value: unknown) => rules({ field, op: 'eq', value });

/** `start > wait`, `if > pro: yes`: the ways between steps. */
export function ways(...texts: readonly string[]): string {
  const edges = texts.map((text) => {
    const [, source, target, branch] = /^(\w+) > (\w+)(?:: (\w+))?$/.exec(text) ?? [];
    return { id: text, source, target, branch };
  });
  return JSON.stringify(edges);
}

/** Steps one behind the other. */
export function chain(...nodes: readonly NodeSketch[]): { readonly nodes: string; readonly edges: string } {
  const pairs = nodes.slice(1).map((node, index) => `${nodes[index]?.id} > ${node.id}`);
  return { nodes: JSON.stringify(nodes), edges: ways(...pairs) };
}

export function address(email: string): EmailAddress {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.address;
}

/** Automations of one project on a database of its own; the test moves the clock and lets the runner look. */
export class AutomationsFixture {
  #people = 0;

  private constructor(
    readonly messaging: MessagingFixture,
    readonly scope: ProjectScope,
    readonly topic: TopicView,
  ) {}

  static async open(
    variables: Readonly<Record<string, string>> = {},
    environment: Environment = 'TEST',
    publisher?: Type<Publisher>,
  ): Promise<AutomationsFixture> {
    const messaging = await MessagingFixture.open(variables, publisher);
    const isLive = environment === 'LIVE';
    const scope = isLive ? await messaging.scope() : (await prepareProject(messaging.test, '')).test;
    const topic = await messaging
      .get(TopicsService)
      .create(scope, { name: 'News', doubleOptInEnabled: false });
    return new AutomationsFixture(messaging, scope, topic);
  }

  close(): Promise<void> {
    return this.messaging.close();
  }

  get automations(): AutomationsService {
    return this.messaging.get(AutomationsService);
  }

  /** Active; by default people come in when a client names them. */
  async active(
    content: { readonly nodes: string; readonly edges: string },
    fields: Partial<AutomationFields> = {},
  ): Promise<string> {
    const { id } = await this.automations.create(this.scope, {
      name: 'Welcome',
      description: null,
      triggerType: 'manual',
      triggerTopicId: this.topic.id,
      ...fields,
    });
    await this.automations.replaceContent(this.scope, id, content);
    await this.automations.activate(this.scope, id);
    return id;
  }

  /** Somebody new, who is subscribed to the topic. */
  async person(
    input: {
      readonly topicKeys?: readonly string[];
      readonly customFields?: object;
      readonly email?: string;
    } = {},
  ) {
    this.#people += 1;
    const { email = `person${this.#people}@example.com`, topicKeys = [this.topic.topicKey] } = input;
    const { customFields = {} } = input;
    const { id } = await this.messaging.get(SignUpService).create(
      this.scope,
      {
        address: address(email),
        topicKeys,
        source: 'API',
        firstName: 'Ada',
        locale: 'de-AT',
        timeZone: 'Europe/Vienna',
        customFields: { ...customFields },
      },
      PROOF,
    );
    return { id, email };
  }

  enter(automationId: string, email: string, data: Record<string, unknown> | null = null): Promise<string> {
    return this.messaging.get(AutomationEntriesService).enter(this.scope, automationId, address(email), data);
  }

  /** Everything that is due now. */
  async run(): Promise<void> {
    await this.messaging.get(AutomationRunner).pass();
    await this.messaging.get(WebhookCaller).pass();
    await this.messaging.get(AutomationRunner).pass();
  }

  /** Moves the time, and does what is due by then. */
  async later(milliseconds: number): Promise<void> {
    this.messaging.clock.advance(milliseconds);
    await this.run();
  }

  /** Ends all mails that were written down. */
  async endMails(): Promise<void> {
    await this.messaging.test.query(
      `update messaging.deliveries set state = 'SKIPPED', reason = 'erased', finished_at = $1
       where kind = 'AUTOMATION' and single_ended_at is null`,
      [this.messaging.clock.now()],
    );
  }

  view(automationId: string): Promise<AutomationView> {
    return this.messaging.get(AutomationsQuery).get(this.scope, automationId);
  }

  async totals(automationId: string): Promise<readonly [entered: number, completed: number, inside: number]> {
    const { totalEntered, totalCompleted, currentlyActive } = await this.view(automationId);
    return [totalEntered, totalCompleted, currentlyActive];
  }

  async executions(automationId: string): Promise<readonly Execution[]> {
    const page = await this.messaging
      .get(ExecutionsQuery)
      .page(this.scope, automationId, { page: 0, size: 100 });
    return page.items;
  }

  /** The ways that somebody took, the latest first: `COMPLETED: start, wait, hello SKIPPED`. */
  async paths(automationId: string, email: string): Promise<readonly string[]> {
    const all = (await this.executions(automationId)).filter((execution) => execution.email === email);
    return all.map(({ status, steps }) => {
      const taken = steps.map((step) => `${step.nodeId}${step.status === 'DONE' ? '' : ` ${step.status}`}`);
      return `${status}: ${taken.join(', ')}`;
    });
  }

  /** The mails that were written down for somebody, by their subjects when `sent`, else as states. */
  async mails(subscriberId: string): Promise<readonly { readonly node: number; readonly state: string }[]> {
    return await this.messaging.test.query(
      `select messaging.place_of_step(source_id) as node, state from messaging.deliveries
       where subscriber_id = $1 and kind = 'AUTOMATION' order by created_at, node`,
      [subscriberId],
    );
  }
}
