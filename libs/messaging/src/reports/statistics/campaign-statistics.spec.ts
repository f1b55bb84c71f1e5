import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import {
  type CampaignCounts,
  engagementIndex,
  engagementScore,
  ratesOf,
  statisticsStatus,
} from './campaign-statistics.js';
import { statisticsCsv, toCsv } from '../exports/report-csv.js';

const nothing: CampaignCounts = {
  totalSent: 0,
  hardBounced: 0,
  softBounced: 0,
  totalOpened: 0,
  uniqueOpens: 0,
  totalClicked: 0,
  uniqueClicks: 0,
  totalUnsubscribed: 0,
  spamComplaints: 0,
};

describe('ratesOf', () => {
  it('is zero everywhere before anything was sent', () => {
    expect(new Set(Object.values(ratesOf(nothing)))).toEqual(new Set([0]));
  });

  it('counts delivered as sent less bounced, and rates over what was delivered', () => {
    const rates = ratesOf({
      ...nothing,
      totalSent: 100,
      hardBounced: 5,
      softBounced: 15,
      uniqueOpens: 40,
      uniqueClicks: 10,
      totalUnsubscribed: 4,
    });
    expect(rates).toEqual({
      totalBounced: 20,
      totalDelivered: 80,
      deliveryRate: 0.8,
      openRate: 0.5,
      clickThroughRate: 0.125,
      clickToOpenRate: 0.25,
      unsubscribeRate: 0.05,
      bounceRate: 0.2,
    });
  });

  it('stays between 0 and 1 for all counts that can be', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.nat(1_000), fc.nat(1_000), (delivered, bounced, opened) => {
        const counts = {
          ...nothing,
          totalSent: delivered + bounced,
          hardBounced: bounced,
          uniqueOpens: Math.min(opened, delivered),
        };
        const { deliveryRate, bounceRate, openRate } = ratesOf(counts);
        for (const rate of [deliveryRate, bounceRate, openRate]) expect(rate >= 0 && rate <= 1).toBe(true);
      }),
    );
  });
});

describe('the status of the numbers', () => {
  const now = new Date('2026-11-21T09:00:00.000Z');
  const sent = { totalSent: 1, campaignStatus: 'SENT' as const, isTracked: true, lastSentAt: now };
  const later = (hours: number) => new Date(now.getTime() + hours * 3_600_000);

  it.each([
    ['COLLECTING before anything was sent', { ...sent, totalSent: 0, lastSentAt: null }, now, 'COLLECTING'],
    ['LIVE while it is sent', { ...sent, campaignStatus: 'SENDING' as const }, later(100), 'LIVE'],
    ['LIVE for 72 hours after', sent, later(71.9), 'LIVE'],
    ['COMPLETE from then on', sent, later(72), 'COMPLETE'],
    ['PARTIAL without tracking', { ...sent, isTracked: false }, later(100), 'PARTIAL'],
  ])('is %s', (_, progress, at, status) => {
    expect(statisticsStatus(progress, at)).toBe(status);
  });
});

describe('the engagement score', () => {
  const counts = {
    ...nothing,
    totalSent: 100,
    totalOpened: 40,
    uniqueOpens: 40,
    totalClicked: 10,
    uniqueClicks: 10,
  };
  const index = engagementIndex(counts);

  it('is 50 for the project’s own average, and for a first campaign', () => {
    expect(engagementScore(index, [index * 0.5, index * 1.5])).toBe(50);
    expect(engagementScore(index, [])).toBe(50);
  });

  it('is 66.7 for twice the average, and 0 while nobody did anything', () => {
    expect(engagementScore(2 * index, [index])).toBe(66.7);
    expect(engagementScore(0, [index])).toBe(0);
    expect(engagementScore(0, [])).toBe(0);
  });

  it('falls with unsubscribes and complaints, though never below 0', () => {
    expect(engagementIndex({ ...counts, totalUnsubscribed: 5 })).toBeLessThan(index);
    expect(engagementIndex({ ...counts, spamComplaints: 100 })).toBe(0);
  });

  it('stays between 0 and 100', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 5, noNaN: true }),
        fc.array(fc.double({ min: 0, max: 5, noNaN: true })),
        (own, others) => {
          const score = engagementScore(own, others);
          expect(score >= 0 && score <= 100).toBe(true);
        },
      ),
    );
  });
});

describe('the report as CSV', () => {
  it('has one header and one row with CRLF, and makes formulas harmless', () => {
    const statistics = {
      campaignId: 'x',
      status: 'PARTIAL' as const,
      ...nothing,
      ...ratesOf(nothing),
      engagementScore: 0,
      collectedAt: new Date('2026-11-21T06:00:00.000Z'),
      lastUpdatedAt: null,
      completedAt: null,
    };
    const csv = statisticsCsv({
      campaignKey: 'APIT-001',
      name: '=HYPERLINK("x")',
      status: 'SENT',
      statistics,
    });
    expect(csv.split('\r\n')).toEqual([
      'campaignKey,name,status,totalSent,totalDelivered,totalBounced,hardBounced,softBounced,totalOpened,uniqueOpens,' +
        'totalClicked,uniqueClicks,totalUnsubscribed,spamComplaints,deliveryRate,openRate,clickThroughRate,clickToOpenRate,' +
        'unsubscribeRate,bounceRate,engagementScore,collectedAt,lastUpdatedAt,completedAt',
      `APIT-001,"'=HYPERLINK(""x"")",SENT,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2026-11-21T06:00:00.000Z,,`,
      '',
    ]);
  });

  it.each(['=1', '+1', '-1', '@x', '\tx', '\rx'])('neutralises a cell that begins with %j', (cell) => {
    expect(toCsv([[cell]]).replaceAll('"', '')).toBe(`'${cell}\r\n`);
  });
});
