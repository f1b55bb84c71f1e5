import type { CampaignCounts } from './campaign-statistics.js';

/** A campaign of the same project that went before. */
export interface PastCampaign {
  readonly name: string;
  readonly counts: CampaignCounts;
  readonly isTracked: boolean;
}

/** Clicks on one link. */
export interface LinkClicks {
  readonly url: string;
  /** Mails through which people followed it. */
  readonly clickers: number;
}

/** Opens in one hour of the day, over all days. */
export interface HourFacts {
  /** 0–23, UTC. */
  readonly hour: number;
  readonly opens: number;
}

/** Arrivals of mails. */
export interface Arrivals {
  /** Sent, or refused. */
  readonly mails: number;
  /** Came back or were refused. */
  readonly undelivered: number;
}

/** The mails to one mailbox provider. */
export interface DomainFacts extends Arrivals {
  readonly domain: string;
}

/** All that a report is made from: counts, no person. */
export interface ReportFacts {
  readonly campaign: { readonly name: string; readonly subject: string };
  readonly isTracked: boolean;
  /** Readers are still opening: the campaigns before it are told as they were at the same age. */
  readonly isEarly: boolean;
  /** Enough time has passed for somebody to open a mail. */
  readonly areOpensDue: boolean;
  readonly counts: CampaignCounts;
  /** At most 20, the latest first. */
  readonly history: readonly PastCampaign[];
  /** Every tracked link of the mail, followed or not. */
  readonly links: readonly LinkClicks[];
  /** Mails in which a link was followed. */
  readonly clickers: number;
  readonly hours: readonly HourFacts[];
  /** Only those with so many mails that no single person shows. */
  readonly domains: readonly DomainFacts[];
  /** Mails to all providers together. */
  readonly arrivals: Arrivals;
}

/** Campaigns that a report compares with. */
export const MOST_COMPARED = 20;

/** From this age on, hardly anybody opens a campaign's mails who has not before. */
export const GROWN_UP_MS = 72 * 3_600_000;

/** From this age on, it means something that nobody has opened a mail: readers sleep, and work. */
export const OPENS_DUE_MS = 24 * 3_600_000;

/** A mailbox provider with fewer mails of a campaign is not named: it might be one person's own. */
export const FEWEST_MAILS_OF_DOMAIN = 25;

/** The largest providers, and the most followed links: more would say nothing. */
export const MOST_LISTED = 20;
