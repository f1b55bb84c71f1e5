import { analyseCampaign } from '../../libs/deliverability/src/pre-send/campaign-checks.js';
import type {
  CampaignFacts,
  ContentFacts,
  DomainFacts,
} from '../../libs/deliverability/src/pre-send/campaign-facts.js';
import type { CheckCode, PreSendCheck } from '../../libs/deliverability/src/pre-send/pre-send-check.js';

export const NOW = new Date('2026-11-21T10:00:00Z');
const LONG_AGO = new Date('2026-01-01T00:00:00Z');

const content: ContentFacts = {
  subject: 'News of the week',
  previewText: 'What is new',
  hasSubject: true,
  empty: false,
  hasUnsubscribeLink: true,
  hasPostalAddress: true,
  linkFaults: [],
  removed: [],
  goneImages: [],
  emptyLinks: [],
  subjectMayBeEmpty: false,
  unreadable: [],
  visibleText: 'Here is what our shop has that is new this week. '.repeat(5),
  images: ['A red bicycle'],
  htmlBytes: 12_000,
  ownText: null,
  urls: ['https://shop.example/new'],
  personal: true,
};

const domain: DomainFacts = {
  domainName: 'acme.example',
  covers: true,
  verified: true,
  sendingAllowed: true,
  verifiedAt: LONG_AGO,
  suspensionReason: null,
  alignment: null,
  dmarc: { status: 'VERIFIED', failureReason: null, advice: null },
};

const good: CampaignFacts = {
  topics: [{ name: 'Product news', status: 'ACTIVE' }],
  segments: [{ name: 'VIPs', status: 'ACTIVE' }],
  deleted: { topics: 0, segments: 0 },
  segmentFaults: [],
  recipients: 3,
  destinations: [],
  sender: {
    host: 'mail.acme.example',
    needsDomain: true,
    domain,
    replies: [{ domain: 'mail.acme.example', canReceive: true }],
  },
  relays: [{ name: 'Main', status: 'ACTIVE', isSilent: false }],
  sendingAllowed: true,
  emailsRemaining: 3,
  mergeTagFaults: [],
  contentFault: null,
  content,
  variantFaults: null,
  now: NOW,
};

/** A live campaign in order, but for what is given. */
export const campaign = (facts: Partial<CampaignFacts> = {}): CampaignFacts => ({ ...good, ...facts });
export const withContent = (facts: Partial<ContentFacts>): CampaignFacts =>
  campaign({ content: { ...content, ...facts } });
export const withDomain = (facts: Partial<DomainFacts>, more: Partial<CampaignFacts> = {}): CampaignFacts =>
  campaign({ sender: { ...good.sender, domain: { ...domain, ...facts } }, ...more });

export const withReplies = (domains: Readonly<Record<string, boolean | null>>): CampaignFacts =>
  campaign({
    sender: {
      ...good.sender,
      replies: Object.entries(domains).map(([domainName, canReceive]) => ({
        domain: domainName,
        canReceive,
      })),
    },
  });

export const allChecks = (facts: CampaignFacts): readonly PreSendCheck[] =>
  analyseCampaign(facts, new Map()).checks;

/** `code: message` of the checks with this result. */
export const messages = (facts: CampaignFacts, result: PreSendCheck['result'] = 'FAIL'): string[] =>
  allChecks(facts)
    .filter((check) => check.result === result)
    .map(({ code, message }) => `${code}: ${message}`);

export const codes = (facts: CampaignFacts, result: PreSendCheck['result']): CheckCode[] =>
  allChecks(facts)
    .filter((check) => check.result === result)
    .map(({ code }) => code);
