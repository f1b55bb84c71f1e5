import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { CustomFieldsService } from '#audience';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { eventually } from '#testing/time/eventually';
import type { CampaignDraft } from '../../campaigns/campaign.js';
import { MessagingFixture } from '../../messaging.fixture.js';
import { MailViewService } from './mail-view.service.js';
import { TestMailsService } from './test-mails.service.js';

const contentJson = JSON.stringify({
  blocks: [
    {
      type: 'text',
      html: '<p>On {{ custom.at | date: "%A, %-d %B, %H:%M" }}, born {{ custom.born | date: "%d.%m." }}</p>',
    },
  ],
});

describe('a mail for its reader', () => {
  let fixture: MessagingFixture;
  let sink: SmtpSink;
  let scope: ProjectScope;

  beforeAll(async () => {
    sink = await startSmtpSink();
    fixture = await MessagingFixture.open({ SMTP_URL: sink.url });
  });
  beforeEach(async () => {
    scope = await fixture.scope();
    const fields = fixture.get(CustomFieldsService);
    await fields.create(scope, { key: 'at', displayName: 'At', type: 'DATETIME' });
    await fields.create(scope, { key: 'born', displayName: 'Born', type: 'DATE' });
  });
  afterEach(async () => {
    await fixture.clear();
    sink.clear();
  });
  afterAll(async () => {
    await fixture?.close();
    await sink?.stop();
  });

  const change = (reader: number, set: string) =>
    fixture.test.query(`update audience.subscribers set ${set} where environment_id = $1 and email = $2`, [
      scope.environmentId,
      `reader-${reader}@example.com`,
    ]);

  /** Mails by address, as the next hop got them. */
  async function sent(readers: number, draft: Partial<CampaignDraft>, prepare = () => Promise.resolve()) {
    const campaign = await fixture.draft(scope, readers, draft);
    await prepare();
    await fixture.sends(scope, campaign);
    fixture.engine.start();
    await eventually('all are sent', () => Promise.resolve(sink.count() === readers));
    const mails = await Promise.all(
      sink.messages.map(async ({ raw }) => [raw.toString(), await PostalMime.parse(raw)] as const),
    );
    return new Map(mails.map(([raw, mail]) => [mail.to?.[0]?.address ?? '', { raw, ...mail }]));
  }

  it.each([
    ['{{ subscriber.first_name | default: "Your" }}’s Acme', ['Reader 1’s Acme', 'Your’s Acme']],
    [
      '{% if subscriber.first_name %}Acme for {{ subscriber.first_name }}{% endif %}',
      ['Acme for Reader 1', 'Acme'],
    ],
    ['{{ subscriber.first_name }}', ['Reader 1', 'Acme']],
    ['Acme News', ['Acme News', 'Acme News']],
  ])('is from whom its author says, with merge tags filled in: %s', async (fromName, names) => {
    await fixture.test.query("update access.projects set sender_name = 'Acme'");
    const mails = await sent(2, { fromName }, async () => {
      await change(2, 'first_name = null');
    });
    expect([1, 2].map((reader) => mails.get(`reader-${reader}@example.com`)?.from?.name)).toEqual(names);
  });

  it.each(['plain {{ subscriber.first_name }}', '{% if true %}logic {{ subscriber.first_name }}{% endif %}'])(
    'has one From and no header of a value’s own: %s',
    async (fromName) => {
      const evil = 'Eve" <eve@evil.example>,\r\nBcc: all@evil.example\u0000 (x';
      const mails = await sent(1, { fromName }, async () => {
        await fixture.test.query('update audience.subscribers set first_name = $1', [
          evil.replace('\u0000', ''),
        ]);
      });
      const [mail] = mails.values();
      expect(mail?.from?.address).toBe('news@mailwright.test');
      expect(mail?.from?.name).toContain('Eve" <eve@evil.example>, Bcc: all@evil.example (x');
      const [head = ''] = mail?.raw.split('\r\n\r\n', 1) ?? [];
      expect(head.match(/^(?:From|Bcc):/gim)).toEqual(['From:']);
    },
  );

  it('shows its sender’s name in a preview and in a test mail as its readers get it', async () => {
    const { campaignKey } = await fixture.draft(scope, 1, {
      fromName: '{{ subscriber.first_name }} of Acme',
    });
    const reader = { address: null, locale: null, variant: null };
    const preview = await fixture.get(MailViewService).preview(scope, campaignKey, reader);
    expect(preview.fromName).toBe('Ada of Acme');
    const parsed = parseEmailAddress('test@example.com');
    if ('fault' in parsed) throw new Error(parsed.fault);
    await fixture.get(TestMailsService).send(scope, campaignKey, [parsed.address]);
    fixture.engine.start();
    const raw = await eventually('the test mail is sent', () =>
      Promise.resolve(sink.messages[0]?.raw ?? null),
    );
    expect((await PostalMime.parse(raw)).from?.name).toBe('Ada of Acme');
  });

  describe('on the web', () => {
    const EVERYTHING = `update audience.subscribers set first_name = 'Changed', time_zone = 'Asia/Tokyo', locale = 'ja',
      custom_fields = '{"at": "2030-01-01T00:00:00.000Z", "born": "2001-01-01"}'`;

    /** The page of the mail that one reader got, and what its HTML part said. */
    async function shownLater(draft: Partial<CampaignDraft>, meanwhile: string) {
      const [mail] = (
        await sent(1, draft, async () => {
          await fixture.test.query(
            `update audience.subscribers set locale = 'de', custom_fields = '{"at": "2026-07-01T22:30:00.000Z", "born": "1990-05-17"}'`,
          );
        })
      ).values();
      const html = mail?.html ?? '';
      const [, token = '', sealed = null] = /\/v\/([\w-]+)(?:\?d=([\w-]+))?"/.exec(html) ?? [];
      const [delivery] = await fixture.settled('it is written', ({ state }) => state === 'SENT');
      await fixture.test.query(meanwhile);
      await fixture.test.query("update access.projects set time_zone = 'Asia/Tokyo'");
      fixture.clock.advance(48 * 3_600_000);
      const id = delivery?.id ?? '';
      const view = (of = id, by = sealed) => fixture.get(MailViewService).ofDelivery(scope, of, by);
      return { html, token, sealed, view };
    }

    it.each([
      ['plain tags', { contentText: 'Hello {{ subscriber.first_name }}, {{ custom.born }}.' }],
      [
        'logic',
        {
          contentText: 'Hello {% if subscriber.first_name %}{{ subscriber.first_name | upcase }}{% endif %}.',
        },
      ],
      ['dates', { contentJson, contentText: null }],
      ['the moment', { contentText: 'Made {{ "now" | date: "%s %c" }}.' }],
      ['its topic', { contentText: 'About {{ topic.name }} of {{ project.name }}.' }],
      ['nothing personal', { contentText: 'Hello.' }],
    ])('shows what it showed as it was sent, whatever has changed since: %s', async (_, draft) => {
      const topic = "update audience.topics set name = 'Other'; update access.projects set name = 'Other'";
      const mail = await shownLater(draft, `${EVERYTHING}; ${topic}`);
      const page = await mail.view();
      expect(page?.isOfToday).toBe(false);
      const words = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/&zwnj;|&nbsp;|\s+/g, ' ');
      expect(words(page?.html ?? '').trim()).toBe(words(mail.html).trim());
    });

    it('says so where its link does not tell what it showed, or another mail’s does', async () => {
      const draft = { contentText: 'Hello {{ subscriber.first_name }}.' };
      const { view, sealed } = await shownLater(draft, EVERYTHING);
      expect(sealed).not.toBeNull();
      for (const other of [null, '', 'AAAA', `${sealed ?? ''}A`, sealed?.slice(1) ?? null]) {
        const page = await view(undefined, other);
        expect([page?.isOfToday, page?.html.includes('Hello Changed.')]).toEqual([true, true]);
      }
    });

    it('is not there once its reader is erased, and its link tells nobody what it showed', async () => {
      const draft = { contentText: 'Hello {{ subscriber.first_name }}.' };
      const { view, token, sealed } = await shownLater(
        draft,
        'update messaging.deliveries set subscriber_id = null',
      );
      expect(await view()).toBeNull();
      for (const part of [token, sealed ?? ''])
        expect(Buffer.from(part, 'base64url').toString('latin1')).not.toContain('Reader');
    });

    it('takes along no more than a link can hold', async () => {
      const fields = fixture.get(CustomFieldsService);
      await fields.create(scope, { key: 'note', displayName: 'Note', type: 'LONG_TEXT' });
      const note = 'x'.repeat(1_001);
      const draft = { contentText: 'Note: {{ custom.note | default: "none" }}' };
      const long = `update audience.subscribers set custom_fields = '{"note": "${note}"}'`;
      const campaign = await fixture.draft(scope, 1, draft);
      await fixture.test.query(long);
      await fixture.sends(scope, campaign);
      fixture.engine.start();
      const raw = await eventually('it is sent', () => Promise.resolve(sink.messages[0]?.raw ?? null));
      const { html = '' } = await PostalMime.parse(raw);
      expect(html).toMatch(/\/v\/[\w-]+"/);
      const [delivery] = await fixture.settled('it is written', ({ state }) => state === 'SENT');
      const page = await fixture.get(MailViewService).ofDelivery(scope, delivery?.id ?? '', null);
      expect(page?.isOfToday).toBe(true);
    });
  });

  it('says dates in its reader’s language and zone, then in the project’s', async () => {
    await fixture.test.query(
      "update access.projects set default_locale = 'fr', time_zone = 'America/Toronto'",
    );
    const mails = await sent(3, { contentJson, contentText: null }, async () => {
      await fixture.test.query(
        `update audience.subscribers set custom_fields = '{"at": "2026-07-01T22:30:00.000Z", "born": "1990-05-17"}'`,
      );
      await change(1, "locale = 'de-AT', time_zone = 'Europe/Vienna'");
      await change(2, "time_zone = 'Asia/Tokyo'");
    });
    const shown = (reader: number) => mails.get(`reader-${reader}@example.com`)?.text?.split('\n', 1)[0];
    expect([1, 2, 3].map(shown)).toEqual([
      'On Donnerstag, 2 Juli, 00:30, born 17.05.',
      'On jeudi, 2 juillet, 07:30, born 17.05.',
      'On mercredi, 1 juillet, 18:30, born 17.05.',
    ]);
  });
});
