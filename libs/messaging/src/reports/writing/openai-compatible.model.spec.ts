import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ModelServer } from '#testing/servers/model-server';
import { LanguageModelError } from './language-model.js';
import { OpenAiCompatibleModel } from './openai-compatible.model.js';

const REQUEST = { instructions: 'Write.', question: 'What happened?', mostTokens: 100 };

describe('A model behind an OpenAI-compatible endpoint', () => {
  let server: ModelServer;
  const waits: number[] = [];

  beforeAll(async () => {
    server = await ModelServer.start();
  });
  afterAll(() => server.stop());

  const modelWith = (timeoutMs = 300_000, baseUrl = server.baseUrl) =>
    new OpenAiCompatibleModel({
      baseUrl,
      apiKey: 'secret',
      model: 'stand-in',
      timeoutMs,
      wait: (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
    });
  const ask = (model = modelWith(), signal = new AbortController().signal) => {
    waits.length = 0;
    return model.answer(REQUEST, signal);
  };
  const failure = async (model?: OpenAiCompatibleModel) => {
    const error: unknown = await ask(model).catch((reason: unknown) => reason);
    if (!(error instanceof LanguageModelError)) throw new Error(`It failed otherwise: ${String(error)}`);
    return error.message;
  };

  it('is asked with its key, and says how many tokens it took', async () => {
    server.behave({ answer: ' It went well. ', usage: { prompt_tokens: 12, completion_tokens: 5 } });
    expect(await ask(modelWith(10_000, `${server.baseUrl}/`))).toEqual({
      text: 'It went well.',
      usage: { promptTokens: 12, completionTokens: 5 },
    });
    const [call] = server.calls;
    expect(call).toMatchObject({ path: '/v1/chat/completions', authorization: 'Bearer secret' });
    expect(JSON.parse(call?.body ?? '')).toEqual({
      model: 'stand-in',
      max_tokens: 100,
      messages: [
        { role: 'system', content: 'Write.' },
        { role: 'user', content: 'What happened?' },
      ],
    });
  });

  it('may not say how many tokens it took', async () => {
    for (const usage of [null, {}, { prompt_tokens: 'many', completion_tokens: -1 }]) {
      server.behave({ answer: 'Fine.', usage });
      expect(await ask()).toEqual({ text: 'Fine.', usage: null });
    }
  });

  it.each([
    [429, 'the model is busy (429)'],
    [500, 'the model failed (500)'],
    [503, 'the model failed (503)'],
  ])('that answers %i is asked three times, with growing waits', async (status, message) => {
    server.behave({ status });
    expect(await failure()).toBe(message);
    expect(server.calls).toHaveLength(3);
    expect(waits).toEqual([1_000, 5_000]);
  });

  it('that recovers in between is forgiven', async () => {
    server.behave({ status: 500 }, 'broken', { answer: 'Fine.' });
    expect(await ask()).toMatchObject({ text: 'Fine.' });
    expect(server.calls).toHaveLength(3);
  });

  it('that says how long to wait is waited for, within bounds', async () => {
    server.behave(
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 429, headers: { 'retry-after': '7200' } },
      { answer: 'Fine.' },
    );
    await ask();
    expect(waits).toEqual([7_000, 30_000]);
  });

  it.each([400, 401, 403, 404])('that answers %i is not asked again', async (status) => {
    server.behave({ status, body: 'Incorrect API key provided: sk-secret' });
    expect(await failure()).toBe(`the model refused the request (${status})`);
    expect(server.calls).toHaveLength(1);
  });

  it('that sends somewhere else is not followed', async () => {
    server.behave({ status: 302, headers: { location: '/elsewhere' } });
    expect(await failure()).toBe('the model cannot be reached');
    expect(server.calls.every(({ path }) => path === '/v1/chat/completions')).toBe(true);
  });

  it('that is silent is given up on, and not asked again', async () => {
    server.behave('silent');
    expect(await failure(modelWith(100))).toBe('the model did not answer in time');
    expect(server.calls).toHaveLength(1);
  });

  it('that is not there cannot be reached', async () => {
    const gone = await ModelServer.start();
    const { baseUrl } = gone;
    await gone.stop();
    expect(await failure(modelWith(10_000, baseUrl))).toBe('the model cannot be reached');
  });

  it.each([
    ['no JSON', '<html>'],
    ['half of it', '{"choices":[{"message":{"content":"Fi'],
    ['something else', '{"error":"no"}'],
    ['no choice', '{"choices":[]}'],
    ['no text', '{"choices":[{"message":{"content":[{"type":"text"}]}}]}'],
  ])('that answers with %s is not understood', async (_, body) => {
    server.behave({ status: 200, body });
    expect(await failure()).toBe('the model’s answer could not be read');
  });

  it('that has nothing to say has said nothing', async () => {
    for (const body of ['{"choices":[{"message":{"content":null}}]}', '{"choices":[{"message":{}}]}']) {
      server.behave({ status: 200, body });
      expect(await failure()).toBe('the model’s answer was empty');
    }
    server.behave({ answer: ' \n ' });
    expect(await failure()).toBe('the model’s answer was empty');
  });

  it('that never stops talking is cut off', async () => {
    server.behave({ answer: 'x'.repeat(2 * 1024 * 1024) });
    expect(await failure()).toBe('the model’s answer was too long');
  });

  it('is left when the worker stops, whatever it is doing', async () => {
    server.behave('silent');
    const stopping = new AbortController();
    const asked = ask(modelWith(), stopping.signal);
    const reason = new Error('The worker stops.');
    stopping.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});
