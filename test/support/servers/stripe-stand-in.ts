import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Stripe } from 'stripe';

type Fields = Readonly<Record<string, string>>;

interface StandInSubscription {
  readonly id: string;
  readonly object: 'subscription';
  readonly customer: string;
  status: string;
  cancel_at_period_end: boolean;
  canceled_at: number | null;
  ended_at: number | null;
  trial_end: number | null;
  latest_invoice: string | null;
  readonly items: { readonly data: StandInItem[] };
  amount: number;
  readonly interval: string;
  readonly currency: string;
  readonly metadata: Readonly<Record<string, string>>;
}

interface StandInItem {
  readonly id: string;
  current_period_start: number;
  current_period_end: number;
}

interface StandInInvoice {
  readonly id: string;
  readonly object: 'invoice';
  status: string;
  readonly billing_reason: string;
  readonly currency: string;
  readonly created: number;
  readonly due_date: number;
  readonly customer: string;
  total_taxes: readonly { readonly amount: number; readonly tax_behavior: string }[];
  readonly total_discount_amounts: readonly { readonly amount: number }[];
  readonly total_pretax_credit_amounts: readonly { readonly amount: number }[];
  readonly amount_shipping: number;
  total: number;
  starting_balance: number;
  ending_balance: number | null;
  pre_payment_credit_notes_amount: number;
  post_payment_credit_notes_amount: number;
  readonly status_transitions: { finalized_at: number | null; paid_at: number | null };
  readonly parent: { readonly subscription_details: { readonly subscription: string } };
  lines: readonly StandInLine[];
}

interface StandInLine {
  readonly amount: number;
  readonly taxes?: readonly { readonly amount: number; readonly tax_behavior: string }[];
}

export interface StandInEvent {
  readonly payload: string;
  readonly signature: string;
}

const DAY_S = 86_400;

/** Speaks the part of Stripe's API that we use, with objects that live, and signs events as Stripe does. */
export class StripeStandIn {
  readonly secret = 'whsec_a secret of the tests';
  /** Method and path of every request. */
  readonly requests: string[] = [];
  readonly subscriptions = new Map<string, StandInSubscription>();
  readonly invoices = new Map<string, StandInInvoice>();
  readonly customers = new Map<string, { readonly id: string; readonly name: string }>();
  readonly #products = new Set<string>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  /** Answers nothing but 503. */
  isDown = false;
  /** Cuts the connection instead of answering so many requests to begin a subscription, when it has done what they ask for. */
  lostAnswers = 0;
  /** Answers by idempotency key, with the fields that they belong to. */
  readonly #answered = new Map<
    string,
    { readonly fields: string; readonly answer: readonly [number, object] }
  >();
  #count = 0;

  constructor(private readonly now: () => Date) {}

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Forgets all that was begun, as one that was just started. */
  clear(): void {
    this.requests.length = 0;
    for (const objects of [this.subscriptions, this.invoices, this.customers, this.#products])
      objects.clear();
    this.#answered.clear();
    this.isDown = false;
    this.lostAnswers = 0;
  }

  /** The one subscription there is. */
  get subscription(): StandInSubscription {
    const [subscription] = [...this.subscriptions.values()].slice(-1);
    if (subscription === undefined) throw new Error('There is no subscription.');
    return subscription;
  }

  /** The period ends and the next one begins, with its invoice. */
  renew(): StandInInvoice {
    const { subscription } = this;
    const [item] = subscription.items.data;
    if (item === undefined) throw new Error('There is no item.');
    item.current_period_start = item.current_period_end;
    item.current_period_end += (subscription.interval === 'year' ? 365 : 30) * DAY_S;
    subscription.status = 'active';
    return this.#invoice(subscription, 'subscription_cycle', [['Another period', subscription.amount]]);
  }

  pay(id: string): void {
    const invoice = this.invoices.get(id);
    if (invoice === undefined) throw new Error(`There is no invoice ${id}.`);
    invoice.status = 'paid';
    invoice.status_transitions.paid_at = this.#seconds();
  }

  /** Event as Stripe would post it, `age` seconds old. The object in it is as it is now. */
  event(
    type: string,
    object: { readonly id: string; readonly invoice?: string },
    options: { readonly id?: string; readonly age?: number } = {},
  ): StandInEvent {
    const created = Math.floor(Date.now() / 1_000) - (options.age ?? 0);
    const id = options.id ?? this.#id('evt');
    const payload = JSON.stringify({ id, object: 'event', type, created, data: { object } });
    return { payload, signature: this.sign(payload, created) };
  }

  /** The header of a body; `at` in seconds. */
  sign(payload: string, at = Math.floor(Date.now() / 1_000)): string {
    const { webhooks } = new Stripe('sk_test_x');
    return webhooks.generateTestHeaderString({ payload, secret: this.secret, timestamp: at });
  }

  /** One that nobody asked for through us. */
  begin(customer: string): StandInSubscription {
    return this.#subscribe({
      customer,
      'items[0][price_data][unit_amount]': '500',
      'items[0][price_data][currency]': 'eur',
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    this.requests.push(`${request.method} ${path}`);
    const fields = Object.fromEntries(new URLSearchParams((await buffer(request)).toString()));
    const key = request.headers['idempotency-key'];
    const [status, body] = this.#once(String(key ?? ''), fields, () =>
      this.#handle(request.method ?? '', path, { ...fields, ...queryOf(request) }),
    );
    if (this.lostAnswers > 0 && request.method === 'POST' && path === '/v1/subscriptions') {
      this.lostAnswers -= 1;
      request.socket.destroy();
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  /** As Stripe does: the same key and the same fields get the first answer again, other fields are refused. */
  #once(key: string, fields: Fields, work: () => readonly [number, object]): readonly [number, object] {
    if (key === '') return work();
    const kept = this.#answered.get(key);
    if (kept !== undefined && kept.fields !== JSON.stringify(fields))
      return [400, { error: { type: 'idempotency_error', message: 'Another request had this key' } }];
    const answer = kept?.answer ?? work();
    if (answer[0] < 500) this.#answered.set(key, { fields: JSON.stringify(fields), answer });
    return answer;
  }

  #handle(method: string, path: string, fields: Fields): readonly [number, object] {
    if (this.isDown) return [503, { error: { type: 'api_error', message: 'Try again later' } }];
    const [, , kind = '', id = '', part = ''] = path.split('/');
    if (method === 'POST' && path === '/v1/customers') return this.#customer(fields);
    if (method === 'POST' && path === '/v1/products') return this.#product(fields);
    if (method === 'POST' && path === '/v1/subscriptions') return [200, this.#subscribe(fields)];
    if (method === 'GET' && path === '/v1/subscriptions') return [200, this.#listed(fields, path)];
    const found = kind === 'subscriptions' ? this.subscriptions.get(id) : this.invoices.get(id);
    // A subscription that was cancelled can be looked at, and not be cancelled again.
    const isOver = method === 'DELETE' && found?.status === 'canceled';
    if (found === undefined || isOver)
      return [
        404,
        { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' } },
      ];
    if (found.object === 'invoice') {
      return [
        200,
        part === 'lines' ? { object: 'list', data: found.lines, has_more: false, url: path } : found,
      ];
    }
    if (method === 'POST') this.#update(found, fields);
    if (method === 'DELETE') this.#cancel(found);
    return [200, found];
  }

  #listed({ customer }: Fields, url: string): object {
    const data = [...this.subscriptions.values()].filter(
      (one) => one.customer === customer && one.status !== 'canceled',
    );
    return { object: 'list', data, has_more: false, url };
  }

  #customer(fields: Fields): readonly [number, object] {
    const customer = { id: this.#id('cus'), object: 'customer', name: fields['name'] ?? '' };
    this.customers.set(customer.id, customer);
    return [200, customer];
  }

  #product({ id = '' }: Fields): readonly [number, object] {
    const isThere = this.#products.has(id);
    this.#products.add(id);
    if (!isThere) return [200, { id, object: 'product' }];
    return [
      400,
      { error: { type: 'invalid_request_error', code: 'resource_already_exists', message: 'There is one' } },
    ];
  }

  #subscribe(fields: Fields): StandInSubscription {
    const days = fields['trial_period_days'];
    const trialEnd = days === undefined ? null : this.#seconds() + Number(days) * DAY_S;
    const interval = fields['items[0][price_data][recurring][interval]'] ?? 'month';
    const start = this.#seconds();
    const end = trialEnd ?? start + (interval === 'year' ? 365 : 30) * DAY_S;
    const item = { id: this.#id('si'), current_period_start: start, current_period_end: end };
    const subscription: StandInSubscription = {
      id: this.#id('sub'),
      object: 'subscription',
      customer: fields['customer'] ?? '',
      status: trialEnd === null ? 'active' : 'trialing',
      cancel_at_period_end: false,
      canceled_at: null,
      ended_at: null,
      trial_end: trialEnd,
      latest_invoice: null,
      items: { data: [item] },
      amount: Number(fields['items[0][price_data][unit_amount]']),
      interval,
      currency: fields['items[0][price_data][currency]'] ?? '',
      metadata: {
        mailwright_tenant: fields['metadata[mailwright_tenant]'] ?? '',
        mailwright_intent: fields['metadata[mailwright_intent]'] ?? '',
      },
    };
    this.subscriptions.set(subscription.id, subscription);
    if (trialEnd === null)
      this.#invoice(subscription, 'subscription_create', [['First period', subscription.amount]]);
    return subscription;
  }

  #update(subscription: StandInSubscription, fields: Fields): void {
    if (fields['cancel_at_period_end'] !== undefined) {
      subscription.cancel_at_period_end = fields['cancel_at_period_end'] === 'true';
      subscription.canceled_at = subscription.cancel_at_period_end ? this.#seconds() : null;
    }
    const amount = fields['items[0][price_data][unit_amount]'];
    if (amount === undefined) return;
    const before = subscription.amount;
    subscription.amount = Number(amount);
    if (fields['proration_behavior'] !== 'always_invoice') return;
    const lines: [string, number][] = [
      ['Unused time', -before],
      ['Remaining time', subscription.amount],
    ];
    this.#invoice(subscription, 'subscription_update', lines);
  }

  #cancel(subscription: StandInSubscription): void {
    subscription.status = 'canceled';
    subscription.canceled_at = this.#seconds();
    subscription.ended_at = this.#seconds();
  }

  #invoice(
    subscription: StandInSubscription,
    reason: string,
    lines: readonly (readonly [string, number])[],
  ): StandInInvoice {
    const [item] = subscription.items.data;
    const period = { start: item?.current_period_start, end: item?.current_period_end };
    const created = this.#seconds();
    const invoice: StandInInvoice = {
      id: this.#id('in'),
      object: 'invoice',
      status: 'open',
      billing_reason: reason,
      currency: subscription.currency,
      created,
      due_date: created + 7 * DAY_S,
      customer: subscription.customer,
      total_taxes: [{ amount: 100, tax_behavior: 'exclusive' }],
      total_discount_amounts: [],
      total_pretax_credit_amounts: [],
      amount_shipping: 0,
      total: lines.reduce((sum, [, amount]) => sum + amount, 100),
      starting_balance: 0,
      ending_balance: 0,
      pre_payment_credit_notes_amount: 0,
      post_payment_credit_notes_amount: 0,
      status_transitions: { finalized_at: created, paid_at: null },
      parent: { subscription_details: { subscription: subscription.id } },
      lines: lines.map(([description, amount]) => ({
        id: this.#id('il'),
        object: 'line_item',
        description,
        amount,
        period,
      })),
    };
    this.invoices.set(invoice.id, invoice);
    subscription.latest_invoice = invoice.id;
    return invoice;
  }

  #id(kind: string): string {
    this.#count += 1;
    return `${kind}_${this.#count}`;
  }

  #seconds(): number {
    return Math.floor(this.now().getTime() / 1_000);
  }
}

function queryOf({ url = '' }: IncomingMessage): Fields {
  return Object.fromEntries(new URL(url, 'http://127.0.0.1').searchParams);
}
