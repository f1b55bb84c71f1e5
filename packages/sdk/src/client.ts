import type { Answer, Body } from './operations.js';
import { Automations } from './resources/automations.js';
import { Billing, Credits } from './resources/billing.js';
import { Campaigns, Reports, TestInbox } from './resources/campaigns.js';
import { CustomFields, ProjectTexts, Topics } from './resources/project.js';
import { Segments } from './resources/segments.js';
import { Relays, SendingDomain } from './resources/sending.js';
import { Consents, Imports, Subscribers, Suppressions } from './resources/subscribers.js';
import { type CallOptions, type MailwrightOptions, Transport } from './transport.js';

/** The Mailwright API with one key: one project, live or test. */
export class Mailwright {
  readonly #transport: Transport;
  readonly projectTexts: ProjectTexts;
  readonly topics: Topics;
  readonly subscribers: Subscribers;
  readonly imports: Imports;
  readonly consents: Consents;
  readonly customFields: CustomFields;
  readonly segments: Segments;
  readonly suppressions: Suppressions;
  readonly campaigns: Campaigns;
  readonly reports: Reports;
  readonly automations: Automations;
  readonly sendingDomain: SendingDomain;
  readonly relays: Relays;
  readonly billing: Billing;
  readonly credits: Credits;
  readonly testInbox: TestInbox;

  constructor(options: MailwrightOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.projectTexts = new ProjectTexts(transport);
    this.topics = new Topics(transport);
    this.subscribers = new Subscribers(transport);
    this.imports = new Imports(transport);
    this.consents = new Consents(transport);
    this.customFields = new CustomFields(transport);
    this.segments = new Segments(transport);
    this.suppressions = new Suppressions(transport);
    this.campaigns = new Campaigns(transport);
    this.reports = new Reports(transport);
    this.automations = new Automations(transport);
    this.sendingDomain = new SendingDomain(transport);
    this.relays = new Relays(transport);
    this.billing = new Billing(transport);
    this.credits = new Credits(transport);
    this.testInbox = new TestInbox(transport);
  }

  /** The project of the key. */
  project(options?: CallOptions): Promise<Answer<'getProject'>> {
    return this.#transport.call('getProject', options);
  }

  updateProject(body: Body<'updateProject'>, options?: CallOptions): Promise<Answer<'updateProject'>> {
    return this.#transport.call('updateProject', { ...options, json: body });
  }
}
