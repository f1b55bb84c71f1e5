import { confirmedPage, confirmPage } from '../../apps/api/src/public-pages/confirm.controller.js';
import type { PageSender, SenderView } from '../../apps/api/src/public-pages/page-view.js';
import {
  leaveEverythingPage,
  preferencesPage,
} from '../../apps/api/src/public-pages/preferences.controller.js';
import {
  undonePage,
  unsubscribedFromEverythingPage,
  unsubscribedFromTopicsPage,
  unsubscribePage,
} from '../../apps/api/src/public-pages/unsubscribe.controller.js';
import { PAUSE_DAYS } from '../../libs/audience/src/index.js';
import { optInMail } from '../../libs/messaging/src/content/mail/opt-in-mail.js';
import { type ShippedLocale, Wording } from '../../libs/wording/src/index.js';

export interface Journey {
  readonly locale: ShippedLocale;
  readonly sender: PageSender;
  readonly timeZone: string;
  /** At least three. */
  readonly topics: readonly string[];
}

const EMAIL = 'ada@example.com';
const UNDO_ID = '019aa3b5-0000-7000-8000-000000000000';
const DAY_MS = 86_400_000;
const NOW = new Date('2026-11-26T13:05:00.000Z');
const STATUSES = ['SUBSCRIBED', null, 'PENDING_CONFIRMATION', 'UNSUBSCRIBED', 'EXPIRED'] as const;

/** All that a reader sees from the opt-in mail to the undone unsubscription, as HTML by name. */
export function readerJourney({
  locale,
  sender,
  timeZone,
  topics,
}: Journey): Readonly<Record<string, string>> {
  const wording = new Wording(locale);
  const view: SenderView = { wording, locale, version: null, sender };
  const mail = optInMail({
    wording,
    senderName: sender.name,
    postalAddress: sender.postalAddress,
    logoUrl: sender.logoUrl,
    color: sender.color,
    topicNames: topics.slice(0, 2),
    confirmUrl: 'https://mail.example/c/x',
    expiresAt: new Date(NOW.getTime() + 2 * DAY_MS),
    timeZone,
    now: NOW,
    privacyUrl: sender.privacyUrl ?? null,
    contactEmail: sender.contactEmail ?? null,
  });
  const content = { email: EMAIL, address: EMAIL, topicNames: topics.slice(0, 2) };
  const shown = topics.map((name, index) => ({
    topicKey: `APIT-${index}`,
    name,
    description: null,
    status: STATUSES[index % STATUSES.length] ?? null,
    isActive: true,
  }));
  const standing = { email: EMAIL, timeZone, suppressed: null, pausedUntil: null, topics: shown };
  const paused = { ...standing, pausedUntil: new Date(NOW.getTime() + 30 * DAY_MS) };
  const pages = {
    confirm: confirmPage(view, content),
    confirmed: confirmedPage(view, content),
    preferences: preferencesPage(view, standing, PAUSE_DAYS),
    paused: preferencesPage(view, paused, PAUSE_DAYS),
    asked: leaveEverythingPage(view, content),
    unsubscribe: unsubscribePage(view, content),
    unsubscribed: unsubscribedFromTopicsPage(view, content, UNDO_ID),
    undone: undonePage(view, content.topicNames),
    everything: unsubscribedFromEverythingPage(view, 'MARKETING', UNDO_ID),
  };
  const html = Object.entries(pages).map(([name, page]) => [name, page.html.toString()] as const);
  return { mail: mail.html, ...Object.fromEntries(html) };
}
