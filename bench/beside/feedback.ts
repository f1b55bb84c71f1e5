import { ReturnPaths } from '../../libs/deliverability/src/bounces/return-path.js';
import { kindRules } from '../../libs/deliverability/src/relays/kinds/kinds.js';
import { newId } from '#kernel';
import { LinkTokens, TrackingTokens } from '#platform';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { standIns } from '#testing/relays/stand-ins';
import { sendmailReport } from '#testing/mail/sendmail-report';
import { SmtpClient } from '#testing/mail/smtp-client';
import { SECRETS } from '#testing/programs/system';
import {
  compare,
  type Comparison,
  type Goal,
  type Measured,
  type Pair,
  shown,
} from '../support/comparison.js';
import { load, type LoadRequest } from '../support/http-load.js';
import type { Listmonk } from '../reference/listmonk.js';
import type { BothMailers } from './both-mailers.js';
import { CLIENTS } from './requests.js';

const LINKS = 12;
/** Ends a run of a fixed number of requests that hangs. */
const LONG_S = 600;
const FORM = 'application/x-www-form-urlencoded';
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101' };
const TWICE: readonly Goal[] = [{ of: 'rate', least: 2 }];
const HARD = '550 5.1.1 No such user here';

/** A mail of a campaign of ours, and its reader. */
interface Mail {
  readonly id: string;
  readonly campaign: string;
  readonly subscriber: string;
  readonly address: string;
  readonly linkSet: string;
}

export interface FeedbackOptions {
  readonly pairs: number;
  readonly seconds: number;
  /** People who confirm, leave or bounce in one run; those of all runs must have been sent the campaign. */
  readonly people: number;
}

/**
 * Readers' and receivers' feedback to the last campaign, through the routes that each has for it. Rates count until all of it is
 * written and has had its consequences.
 */
export async function compareFeedback(
  both: BothMailers<Listmonk>,
  options: FeedbackOptions,
): Promise<Comparison[]> {
  const mails = await mailsOfOurs(both);
  const readers = await readersOfTheirs(both);
  const parties = await Feedback.prepare(both, options, mails, readers);
  const clicks = await parties.clicks();
  const opens = await parties.opens();
  const confirmations = await parties.confirmations();
  const unsubscriptions = await parties.unsubscriptions();
  return [clicks, opens, confirmations, unsubscriptions, ...(await parties.bounces())];
}

class Feedback {
  readonly #links = new LinkTokens(SECRETS.TOKEN_SECRET);
  readonly #tracking = new TrackingTokens(SECRETS.TOKEN_SECRET);
  readonly #paths = new ReturnPaths(SECRETS.TOKEN_SECRET);
  readonly #environmentId: number;

  private constructor(
    private readonly both: BothMailers<Listmonk>,
    private readonly options: FeedbackOptions,
    private readonly mails: readonly Mail[],
    private readonly readers: readonly Reader[],
    private readonly campaign: { readonly uuid: string; readonly links: readonly string[] },
  ) {
    this.#environmentId = both.project.live.environmentId;
  }

  static async prepare(
    both: BothMailers<Listmonk>,
    options: FeedbackOptions,
    mails: readonly Mail[],
    readers: readonly Reader[],
  ): Promise<Feedback> {
    const { database } = both.peer;
    const [campaign] = await database.query<{ uuid: string }>(
      'select uuid from campaigns order by id desc limit 1',
    );
    const links = await database.query<{ uuid: string }>('select uuid from links order by id');
    return new Feedback(both, options, mails, readers, {
      uuid: campaign?.uuid ?? '',
      links: links.map(({ uuid }) => uuid),
    });
  }

  clicks(): Promise<Comparison> {
    const { uuid, links } = this.campaign;
    const theirs = (n: number): LoadRequest => {
      const link = links[Math.floor(n / this.readers.length) % links.length];
      return get(`/link/${link}/${uuid}/${this.#reader(n).uuid}`, 307);
    };
    const ours = (n: number) =>
      get(`/l/${this.#token(n, 1 + (Math.floor(n / this.mails.length) % LINKS))}`, 302);
    return this.#compareFor('click', theirs, ours, 'link_clicks');
  }

  opens(): Promise<Comparison> {
    const theirs = (n: number) => get(`/campaign/${this.campaign.uuid}/${this.#reader(n).uuid}/px.png`, 200);
    const ours = (n: number) => get(`/o/${this.#token(n, 0)}`, 200);
    return this.#compareFor('open', theirs, ours, 'campaign_views');
  }

  /** Confirmations by people who signed up through the API of each just before. */
  async confirmations(): Promise<Comparison> {
    const { peer: listmonk, system, topics, client } = this.both;
    const count = this.options.people * (this.options.pairs + 1);
    const email = (n: number) => `optin${n}@new.example`;
    const signUps = (request: (n: number) => LoadRequest) => {
      let n = 0;
      return () => (n < count ? request((n += 1)) : undefined);
    };
    const theirs = signUps((n) => ({
      method: 'POST',
      path: '/api/subscribers',
      status: 200,
      body: JSON.stringify({
        email: email(n),
        name: `N${n}`,
        status: 'enabled',
        lists: [listmonk.listId('OptIn')],
      }),
    }));
    const ours = signUps((n) => ({
      method: 'POST',
      path: '/api/v1/subscribers',
      status: 201,
      body: JSON.stringify({
        email: email(n),
        firstName: `N${n}`,
        topicKeys: [topics.OptIn.key],
        consent: { source: 'bench' },
      }),
    }));
    const all = { connections: CLIENTS, seconds: LONG_S };
    await load({ port: listmonk.port, headers: listmonk.headers }, theirs, all);
    await load({ port: system.api.port, headers: { 'x-api-key': client.key ?? '' } }, ours, all);
    await this.both.settled();
    const unconfirmed = await listmonk.database.query<Reader>(
      `select s.uuid, s.email from subscribers s join subscriber_lists l on l.subscriber_id = s.id
       where l.list_id = $1 and l.status = 'unconfirmed' order by s.id`,
      [listmonk.listId('OptIn')],
    );
    const pending = await system.database.query<{ id: string; expires_at: Date }>(
      'select id, expires_at from audience.confirmations where environment_id = $1 order by id',
      [this.#environmentId],
    );
    const environmentId = this.#environmentId;
    const tokens = pending.map(({ id, expires_at: expiresAt }) =>
      this.#links.sign({ kind: 'confirm', environmentId, id, expiresAt }),
    );
    const confirmations = await this.#compareEach(
      'confirmation',
      (n) => post(`/subscription/optin/${unconfirmed[n]?.uuid}`, 'confirm=true', FORM),
      (n) => post(`/c/${tokens[n]}`, 'action=confirm', FORM),
    );
    await this.#check(
      `select count(*) from subscriber_lists where status = 'confirmed' and list_id = ${listmonk.listId('OptIn')}`,
      `select count(*) from audience.consents where status = 'SUBSCRIBED' and topic_id = '${topics.OptIn.id}'`,
      count,
    );
    return confirmations;
  }

  async unsubscriptions(): Promise<Comparison> {
    const environmentId = this.#environmentId;
    const ours = (n: number) => {
      const { id, campaign, subscriber } = this.#mail(n);
      const mail = { subscriberId: subscriber, aboutId: campaign };
      const token = this.#links.sign({ kind: 'unsubscribe', environmentId, id, expiresAt: null, mail });
      return post(`/u/${token}`, 'List-Unsubscribe=One-Click', FORM);
    };
    const theirs = (n: number) =>
      post(`/subscription/${this.campaign.uuid}/${this.#reader(n).uuid}`, 'manage=false', FORM);
    const unsubscriptions = await this.#compareEach('unsubscription', theirs, ours);
    await this.#check(
      `select count(*) from subscriber_lists where status = 'unsubscribed'`,
      `select count(*) from messaging.delivery_events where type = 'UNSUBSCRIBED'`,
      this.options.people * (this.options.pairs + 1),
    );
    return unsubscriptions;
  }

  /** Hard bounces by webhook, one a post, of people who have not left; and ours by report over SMTP, which listmonk does not take. */
  async bounces(): Promise<Comparison[]> {
    const { both, options } = this;
    const provider = standIns.POSTMARK;
    const relay = await both.client.post('/relays', {
      name: 'Postmark',
      kind: 'POSTMARK',
      host: '127.0.0.1',
      port: 587,
      feedbackKey: provider.proof.key,
    });
    if (relay.status !== 201) throw new Error(relay.text);
    const path = new URL(relay.at('feedbackUrl')).pathname;
    const left = options.people * (options.pairs + 1);
    const ours = (n: number): LoadRequest => {
      const { id, address } = this.#mail(left + n);
      const token = this.#paths.tokenOf({ environmentId: this.#environmentId, deliveryId: id });
      const fields = kindRules('POSTMARK').headersOf({ token, stream: 'CAMPAIGN', options: {} });
      const raw = Buffer.from([...fields.map((field) => field.join(': ')), '', ''].join('\r\n'));
      const event = provider.eventOf({ id: newId(), to: address, raw }, { kind: 'bounce', said: HARD });
      return post(path, provider.post(event, { signedAt: new Date() }).body.toString(), 'application/json');
    };
    const authorization = provider.post({}, {}).headers;
    const theirs = (n: number) =>
      post(
        '/webhooks/bounce',
        JSON.stringify({
          subscriber_uuid: this.#reader(left + n).uuid,
          campaign_uuid: this.campaign.uuid,
          source: 'bench',
          type: 'hard',
        }),
        'application/json',
      );
    const bounced = 'select count(*)::int as n from bounces';
    const webhooks = await this.#compareEach('bounce by webhook', theirs, ours, {
      goals: [...TWICE, { of: 'postgres', most: 2 }],
      headers: { ...BROWSER, ...authorization },
      written: (runs) => this.#written(bounced, runs * options.people),
    });
    const pairs: Pair[] = [];
    for (const [run, { theirs: webhook }] of webhooks.pairs.entries())
      pairs.push({ theirs: webhook, ours: await this.#reports(left * 2 + run * options.people) });
    const reported = left + options.pairs * options.people;
    await this.#check(
      bounced,
      `select count(*) - ${reported} + ${left} from messaging.delivery_events where type = 'BOUNCED'`,
      left,
    );
    const goals: readonly Goal[] = [...TWICE, { of: 'postgres', most: 2 }];
    const operation = 'bounce, our SMTP report beside their webhook';
    return [webhooks, shown({ operation, goals, pairs })];
  }

  /** Reports of bounced mails to our return path, over as many connections. */
  #reports(from: number): Promise<Measured> {
    const { both, options } = this;
    return both.measure(async () => {
      let n = 0;
      const client = async (_: unknown, place: number) => {
        // Each is a relay of its own, since the bounce server bounds what it takes from one in a minute.
        const smtp = await SmtpClient.open(both.system.worker.bouncePort ?? 0, `127.0.0.${place + 2}`);
        while (n < options.people) {
          const { id, address } = this.#mail(from + (n += 1) - 1);
          const claims = { environmentId: this.#environmentId, deliveryId: id };
          const report = sendmailReport('5.1.1 No such user here')
            .toString()
            .replaceAll('ada@example.com', address);
          const reply = await smtp.send(
            '',
            [this.#paths.addressOf(claims, 'bounces.mailwright.test')],
            report,
          );
          if (!reply.startsWith('250')) throw new Error(reply);
        }
        smtp.close();
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      await both.settled();
      return options.people;
    });
  }

  #reader(n: number): Reader {
    return this.readers[n % this.readers.length]!;
  }

  #mail(n: number): Mail {
    return this.mails[n % this.mails.length]!;
  }

  #token(n: number, place: number): string {
    const { id, linkSet } = this.#mail(n);
    const mail = { environmentId: this.#environmentId, linkSet: Number(linkSet), deliveryId: id };
    return this.#tracking.sign(mail, place + 1)[place] ?? '';
  }

  /** For `seconds` a run, from one mail to the next: several of one mail in a second would be a scanner's. */
  #compareFor(
    operation: string,
    theirs: (n: number) => LoadRequest,
    ours: (n: number) => LoadRequest,
    table: 'link_clicks' | 'campaign_views',
  ): Promise<Comparison> {
    const { both, options } = this;
    const { peer: listmonk, system } = both;
    const asked = { theirs: 0, ours: 0 };
    const written = { theirs: 0, ours: 0 };
    const run =
      (side: 'theirs' | 'ours', request: (n: number) => LoadRequest, count: string) =>
      (): Promise<Measured> => {
        const target = { port: side === 'ours' ? system.api.port : listmonk.port, headers: BROWSER };
        const next = () => request((asked[side] += 1));
        return both.measure(async () => {
          const { requests } = await load(target, next, { connections: CLIENTS, seconds: options.seconds });
          written[side] += requests;
          await this.#written(count, written[side], side);
          return requests;
        });
      };
    const type = table === 'link_clicks' ? 'CLICKED' : 'OPENED';
    return compare(operation, TWICE, options.pairs, {
      theirs: run('theirs', theirs, `select count(*)::int as n from ${table}`),
      ours: run(
        'ours',
        ours,
        `select count(*)::int as n from messaging.delivery_events where type = '${type}'`,
      ),
    });
  }

  /** `people` requests a run, each about another person. */
  #compareEach(
    operation: string,
    theirs: (n: number) => LoadRequest,
    ours: (n: number) => LoadRequest,
    { goals = TWICE, headers = BROWSER, written = () => Promise.resolve() }: EachOptions = {},
  ): Promise<Comparison> {
    const { both, options } = this;
    const { peer: listmonk, system } = both;
    const run = (side: 'theirs' | 'ours', request: (n: number) => LoadRequest) => (number: number) => {
      const from = number * options.people;
      let n = 0;
      const next = () => (n < options.people ? request(from + (n += 1) - 1) : undefined);
      const target =
        side === 'ours'
          ? { port: system.api.port, headers }
          : { port: listmonk.port, headers: listmonk.headers };
      return both.measure(async () => {
        const { requests } = await load(target, next, { connections: CLIENTS, seconds: LONG_S });
        if (side === 'ours') await both.settled();
        else await written(number + 1);
        return requests;
      });
    };
    return compare(operation, goals, options.pairs, {
      theirs: run('theirs', theirs),
      ours: run('ours', ours),
    });
  }

  /** Throws where what was answered had no effect. */
  async #check(theirs: string, ours: string, expected: number): Promise<void> {
    const { peer: listmonk, system } = this.both;
    const count = async (database: TestDatabase, query: string) =>
      Number(Object.values((await database.query<Record<string, unknown>>(query))[0] ?? {})[0]);
    const found = [await count(listmonk.database, theirs), await count(system.database, ours)];
    if (found.some((n) => n !== expected))
      throw new Error(`${found.join(' and ')} took effect, not ${expected}: ${ours}`);
  }

  /** Resolves when a count has come to so many. */
  async #written(count: string, many: number, side: 'theirs' | 'ours' = 'theirs'): Promise<void> {
    const { database } = side === 'ours' ? this.both.system : this.both.peer;
    await eventually(`${many} are written`, async () => {
      const [row] = await database.query<{ n: number }>(count);
      return (row?.n ?? 0) >= many;
    });
  }
}

interface EachOptions {
  readonly goals?: readonly Goal[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Resolves when they have written all of so many runs. */
  readonly written?: (runs: number) => Promise<void>;
}

/** A subscriber of listmonk. */
interface Reader {
  readonly uuid: string;
  readonly email: string;
}

const get = (path: string, status: number): LoadRequest => ({ method: 'GET', path, status });

const post = (path: string, body: string, type: string): LoadRequest => ({
  method: 'POST',
  path,
  status: 200,
  body,
  type,
});

function mailsOfOurs({ system }: BothMailers): Promise<Mail[]> {
  return system.database.query<Mail & Record<string, unknown>>(
    `with last as (select id, environment_id from messaging.campaigns where status = 'SENT' order by queued_at desc limit 1)
     select d.id, d.source_id as campaign, d.subscriber_id as subscriber, d.address, l.id as "linkSet"
     from last c join messaging.deliveries d on d.source_id = c.id and d.environment_id = c.environment_id
     join messaging.link_sets l on l.campaign_id = c.id and l.environment_id = c.environment_id
     order by d.id`,
  );
}

function readersOfTheirs({ peer: listmonk }: BothMailers<Listmonk>): Promise<Reader[]> {
  return listmonk.database.query<Reader & Record<string, unknown>>(
    `select s.uuid, s.email from subscribers s join subscriber_lists l on l.subscriber_id = s.id
     where l.list_id = $1 order by s.id`,
    [listmonk.listId('News')],
  );
}
