import { beforeEach, describe, expect, test } from 'vitest'
import { keyLifetimeMs } from '#actors/idempotency/idempotency'
import type { Answerer, Reply } from '#http/call'
import { bodyOf } from '#http/reply'
import { Problem, type ProblemCode, problemKinds } from '#model/problem'
import { storedBytesMax } from '#routes/idempotency'
import { type Asked, IdempotencyFixture, runningMax, userBytesMax } from '#test/routes/idempotency-fixture'

/** An answer that can be given later, or never. */
function pending(): { readonly answer: Answerer; give(reply: Reply): void } {
  let give: (reply: Reply) => void = () => {}
  const reply = new Promise<Reply>((resolve) => {
    give = resolve
  })
  return { answer: () => reply, give: (given) => give(given) }
}

/** A different answer for each call. */
function counting(status = 200): Answerer {
  let count = 0
  return () => ({ status, json: { count: ++count } })
}

/** The part of an answer that a repetition returns. */
function repeatedPart(reply: Reply) {
  const { Location, location = Location } = reply.headers ?? {}
  return { status: reply.status, location, body: bodyOf(reply) }
}

const same: Asked = {}
const others: Readonly<Record<string, Asked>> = {
  method: { method: 'PUT' },
  path: { path: '/P' },
  query: { query: 'wait=0' },
  body: { body: '{ }' },
  'a body instead of a line of it': { path: '/p","', body: '{}' },
}
const strangers: Readonly<Record<string, Asked>> = {
  user: { user: 'crn#key:U1' },
  tenant: { tenant: 'other' },
  key: { key: 'K' },
}

/** The progress of a first request. */
const stages = {
  async running(fixture: IdempotencyFixture) {
    void fixture.run(same, pending().answer).catch(() => {})
    await fixture.world.settle()
  },
  async open(fixture: IdempotencyFixture) {
    const refused = await fixture.send(same, () => {
      throw new Problem('device_timeout')
    })
    expect(refused).toBe('504 device_timeout')
  },
  async answered(fixture: IdempotencyFixture) {
    const reply = { status: 201, headers: { Location: '/made' }, json: { first: true } }
    expect(await fixture.send(same, () => reply)).toBe('201 /made {"first":true}')
  },
  async old(fixture: IdempotencyFixture) {
    await stages.answered(fixture)
    fixture.world.spend(keyLifetimeMs - 1)
  },
  async expired(fixture: IdempotencyFixture) {
    await stages.answered(fixture)
    fixture.world.spend(keyLifetimeMs)
  },
}

const expected: Readonly<Record<keyof typeof stages, Readonly<Record<'same' | 'other', string>>>> = {
  running: { same: '409 conflict', other: '422 unprocessable' },
  open: { same: '200 {"count":1}', other: '422 unprocessable' },
  answered: { same: '201 /made {"first":true}', other: '422 unprocessable' },
  old: { same: '201 /made {"first":true}', other: '422 unprocessable' },
  expired: { same: '200 {"count":1}', other: '200 {"count":1}' },
}

let fixture: IdempotencyFixture
beforeEach(async () => {
  fixture = await IdempotencyFixture.open()
})

describe.each(Object.keys(stages) as (keyof typeof stages)[])('a key of a request that is %s', (name) => {
  beforeEach(() => stages[name](fixture))

  test('names the same request of the same user', async () => {
    expect(await fixture.send(same, counting())).toBe(expected[name].same)
    const [first, second] = fixture.calls
    expect(fixture.calls.length).toBe(expected[name].same.includes('count') ? 2 : 1)
    if (!second) return
    expect(second.isRepeated).toBe(name === 'open')
    expect(Buffer.compare(second.seed, first?.seed ?? second.seed) === 0).toBe(name === 'open')
  })

  test.each(Object.entries(others))('with another %s is another request', async (_, other) => {
    expect(await fixture.send(other, counting())).toBe(expected[name].other)
  })

  test.each(Object.entries(strangers))('of another %s is another key', async (_, stranger) => {
    expect(await fixture.send(stranger, counting())).toBe('200 {"count":1}')
    expect(fixture.calls.at(-1)?.isRepeated).toBe(false)
    expect(fixture.calls.at(-1)?.seed).not.toEqual(fixture.calls[0]?.seed)
  })
})

describe('a stored answer', () => {
  const kept: Readonly<Record<string, Reply>> = {
    '200': { status: 200, json: ['ä', { b: 1e21 }] },
    '200 as text': { status: 200, text: '{"a" : 1}' },
    '201': { status: 201, headers: { location: '/a?b=c', 'X-Other': 'x' }, json: { id: 'x' } },
    '202': { status: 202, json: { id: 'x' } },
    '204': { status: 204 },
    '400': { status: 400, json: { error: 'no' } },
    '409': { status: 409 },
    'the largest': { status: 200, text: `"${'ä'.repeat(storedBytesMax / 2 - 1)}"` },
  }
  test.each(Object.entries(kept))('with %s is repeated byte for byte', async (_, reply) => {
    const first = repeatedPart(await fixture.reply(same, () => reply))
    expect(first).toEqual(repeatedPart(reply))
    expect(repeatedPart(await fixture.reply(same, counting()))).toEqual(first)
    expect(fixture.calls).toHaveLength(1)
  })

  const refusals = Object.keys(problemKinds) as ProblemCode[]
  const final = [
    'invalid',
    'bad_request',
    'bad_request_message',
    'value_bad',
    'conflict',
    'conflict_empty',
    'memory_full',
  ]
  const gone = ['not_found', 'not_found_empty', 'device_unknown', 'service_unknown', 'property_unknown', 'history_off']
  test.each(refusals)('for an error: %s', async (code) => {
    const refuse = () => {
      throw new Problem(code, 'repeated', { details: [{ path: 'a', message: 'b' }] })
    }
    const first = await fixture.send(same, refuse)
    const again = await fixture.send(same, () => ({ status: 200, json: 'run again' }))
    const isKept = [...final, ...gone, 'unprocessable'].includes(code)
    expect(first.startsWith(String(problemKinds[code].status))).toBe(true)
    expect(again).toBe(isKept ? first : '200 "run again"')
    expect(fixture.calls.at(-1)?.isRepeated).toBe(!isKept)
  })

  test('is missing after a failure, and the request runs again', async () => {
    const broken = fixture.send(same, () => {
      throw new TypeError('broken')
    })
    await expect(broken).rejects.toThrow('broken')
    expect(await fixture.send(same, counting())).toBe('200 {"count":1}')
    expect(fixture.calls.map(({ isRepeated }) => isRepeated)).toEqual([false, true])
  })

  test('is stored without the secret that only the first answer contains', async () => {
    const headers = { 'Cache-Control': 'no-store', Location: '/p/1' }
    const answer = () => ({ status: 201, headers, json: { id: 1, secret: 's' }, repeatedJson: { id: 1 } })
    expect(await fixture.send(same, answer)).toBe('201 /p/1 {"id":1,"secret":"s"}')
    expect(await fixture.send(same, answer)).toBe('201 /p/1 {"id":1}')
    expect(fixture.calls).toHaveLength(1)
  })

  const forgotten: Readonly<Record<string, () => Reply>> = {
    'that may not be stored': () => ({ status: 200, headers: { 'cache-control': 'private, no-store' }, json: 'x' }),
    'that is streamed': () => ({ status: 200, chunks: (async function* () {})() }),
  }
  test.each(Object.entries(forgotten))('is missing for an answer %s, and its key is dropped', async (_, reply) => {
    const given = reply()
    expect(await fixture.reply(same, () => given)).toBe(given)
    expect(fixture.stored()).toBeUndefined()
    expect(await fixture.send({ body: 'other' }, counting())).toBe('200 {"count":1}')
    expect(fixture.calls.map(({ isRepeated }) => isRepeated)).toEqual([false, false])
  })
})

test('an answer above the size limit is computed again, from the resource of the first request', async () => {
  const large = () => ({ status: 201, text: `"${'ä'.repeat(storedBytesMax / 2)}"` })
  const first = repeatedPart(await fixture.reply(same, large))
  expect(repeatedPart(await fixture.reply(same, large))).toEqual(first)
  expect(fixture.calls.map(({ isRepeated }) => isRepeated)).toEqual([false, true])
  expect(fixture.calls[1]?.seed).toEqual(fixture.calls[0]?.seed)
  expect(await fixture.send({ body: 'other' }, counting())).toBe('422 unprocessable')
})

test.each(['', ' ', 'a b', 'a, b', 'ü', 'a\u007f', 'x'.repeat(256)])('%j is not a key: 400', async (key) => {
  expect(await fixture.send({ key }, counting())).toBe('400 bad_request')
  expect([fixture.calls.length, fixture.writes]).toEqual([0, 0])
})

test.each(['!', '~', '"8e03978e-40d5-43e8-bc93-6894a57f9324"', 'a,b', 'x'.repeat(255)])('%j is a key', async (key) => {
  expect(await fixture.send({ key }, counting())).toBe('200 {"count":1}')
  expect(await fixture.send({ key }, counting())).toBe('200 {"count":1}')
  expect(fixture.calls).toHaveLength(1)
})

test('a caller known only by the proof of a key has no idempotency keys', async () => {
  const answer = counting()
  expect(await fixture.send({ user: '' }, answer)).toBe('200 {"count":1}')
  expect(await fixture.send({ user: '' }, answer)).toBe('200 {"count":2}')
  expect(fixture.writes).toBe(0)
})

describe('concurrent requests', () => {
  test('with one key run once, and the others get 409', async () => {
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => fixture.send(same, async (call) => await fixture.make(call))),
    )
    expect(replies.filter((text) => text === '409 conflict')).toHaveLength(49)
    expect(replies.filter((text) => text.startsWith('201 '))).toHaveLength(1)
    expect([fixture.calls.length, fixture.made.length, fixture.events]).toEqual([1, 1, 1])
  })

  test('get 409 while the answer is being stored, and then the answer', async () => {
    const { answer, give } = pending()
    const first = fixture.run(same, answer)
    await fixture.world.settle()
    give({ status: 200, json: 'done' })
    const replies: string[] = []
    for (let step = 0; step < 20; step++) {
      const again = fixture.send(same, counting())
      fixture.world.step()
      replies.push(await again)
    }
    expect(await fixture.replyText(first)).toBe('200 "done"')
    expect(replies.join().replace(/(409 conflict,)*(200 "done",?)+/, '')).toBe('')
    expect(fixture.calls).toHaveLength(1)
  })

  test('are limited', async () => {
    const { answer, give } = pending()
    const running = Array.from({ length: runningMax }, (_, index) =>
      fixture.run({ key: `k${index}`, isSecret: true }, answer),
    )
    expect(await fixture.send({ key: 'x', isSecret: true }, counting())).toBe('503 overloaded')
    expect(await fixture.send({ key: 'x' }, counting())).toBe('503 overloaded')
    give({ status: 204 })
    expect(new Set((await Promise.all(running)).map(({ status }) => status))).toEqual(new Set([204]))
    expect(await fixture.send({ key: 'x' }, counting())).toBe('200 {"count":1}')
  })
})

describe('a route with secrets', () => {
  const secret: Asked = { isSecret: true, body: '{"password":"correct horse"}' }

  test('stores nothing of a request and runs it again', async () => {
    const answer = counting()
    expect(await fixture.send(secret, answer)).toBe('200 {"count":1}')
    expect(await fixture.send(secret, answer)).toBe('200 {"count":2}')
    expect(await fixture.send({ ...secret, body: 'other' }, answer)).toBe('200 {"count":3}')
    expect([fixture.writes, fixture.stored()]).toEqual([0, undefined])
  })

  test.each([
    ['the same request', secret, '409 conflict'],
    ['a request with another body', { ...secret, body: '{"password":"wrong horse"}' }, '422 unprocessable'],
    ['a request to another route', { body: '{}' }, '422 unprocessable'],
    ['a request of another user', { ...secret, user: 'crn#user:U2' }, '200 {"count":1}'],
  ])('answers 409 only for the same key while it runs, %s: %s', async (_, asked, reply) => {
    const { answer, give } = pending()
    const running = fixture.run(secret, answer)
    expect(await fixture.send(asked, counting())).toBe(reply)
    give({ status: 204 })
    expect(await fixture.replyText(running)).toBe('204')
  })
})

test.each([
  ['the first request of the key', 0],
  ['a repeated request', 1],
])('a request whose session ended while its key was stored is answered with 503: %s', async (_, times) => {
  for (let count = 0; count < times; count++) await fixture.send(same, counting())
  let isCurrent = true
  const reply = fixture.run({ isCurrent: () => isCurrent }, counting())
  isCurrent = false
  expect(await fixture.replyText(reply)).toBe('503 overloaded')
  expect(fixture.calls).toHaveLength(times)
})

test.each([-30 * 86_400_000, -3_600_000, -1])(
  'the lifetime of a key survives a clock that is set back by %i ms',
  async (ms) => {
    const first = await fixture.send(same, (call) => fixture.make(call))
    fixture.world.spend(ms)
    expect(await fixture.send(same, counting())).toBe(first)
    expect(await fixture.send({ body: 'other' }, counting())).toBe('422 unprocessable')
    fixture.world.spend(keyLifetimeMs - ms)
    expect(await fixture.send(same, counting())).toBe('200 {"count":1}')
  },
)

/** The steps of a request that creates a resource: the key, the resource, the answer. Each is one write. */
const steps = [1, 2, 3]

describe.each(steps)('a failure of write %i', (step) => {
  test.each([
    ['that is lost', false],
    ['that reached the disk', true],
  ])('is answered with 503 if it %s, and a repetition runs once', async (_, reachedDisk) => {
    fixture.onWrite = (count) => (count === step ? { fail: 'full', reachedDisk } : undefined)
    expect(await fixture.send(same, (call) => fixture.make(call))).toBe('503 storage')
    expect(fixture.writes).toBe(step)
    await fixture.world.advance(5_000)
    const isBegun = fixture.stored() !== undefined
    expect(isBegun).toBe(step > 1 || reachedDisk)
    const first = await fixture.send(same, (call) => fixture.make(call))
    expect(first).toMatch(/^201 \/things\/\w{10} \{"id":"\w{10}"\}$/)
    expect(await fixture.send(same, counting())).toBe(first)
    expect(fixture.made).toHaveLength(1)
    // Changes that were stored but not acknowledged are published only after the repetition.
    const wasAnswered = step === 3 && reachedDisk
    expect(fixture.calls.map(({ isRepeated }) => isRepeated)).toEqual(
      step === 1 ? [isBegun] : wasAnswered ? [false] : [false, true],
    )
    expect(fixture.bugs).toEqual([])
  })
})

describe.each(steps)('a kill in write %i', (step) => {
  test.each([0, 1])('that left %i writes on the disk is repaired by a repetition, which runs once', async (kept) => {
    fixture.onWrite = (count) => {
      if (count === step) fixture.die(kept)
      return undefined
    }
    void fixture.run(same, (call) => fixture.make(call)).catch(() => {})
    await fixture.world.settle()
    expect(fixture.writes).toBe(step)
    await fixture.restart()
    const wasMade = step === 3 || (step === 2 && kept === 1)
    expect(fixture.made).toHaveLength(wasMade ? 1 : 0)
    const before = fixture.made[0]
    const first = await fixture.send(same, (call) => fixture.make(call))
    const [id] = fixture.made
    expect(first).toBe(`201 /things/${id} {"id":"${id}"}`)
    if (wasMade) expect(id).toBe(before)
    expect(await fixture.send(same, counting())).toBe(first)
    expect(fixture.made).toHaveLength(1)
    expect(fixture.calls).toHaveLength(step === 1 || (step === 3 && kept === 1) ? 1 : 2)
  })
})

test('no request begins while the store refuses writes, and stored answers are repeated', async () => {
  const first = await fixture.send(same, (call) => fixture.make(call))
  fixture.onWrite = () => ({ fail: 'io', reachedDisk: false })
  expect(await fixture.send({ key: 'x' }, counting())).toBe('503 storage')
  await fixture.world.advance(60_000)
  expect(await fixture.send({ key: 'x' }, counting())).toBe('503 storage')
  expect(await fixture.send(same, counting())).toBe(first)
  expect(fixture.calls).toHaveLength(1)
})

test('a key has no state outside the store', async () => {
  await fixture.send(same, (call) => fixture.make(call))
  const { registry } = fixture.system
  const before = [registry.awakeCount, registry.namedCount]
  for (let batch = 0; batch < 10; batch++) {
    const keys = Array.from({ length: 100 }, (_, index) => `k${batch}/${index}`)
    await Promise.all(keys.map((key) => fixture.send({ key }, counting())))
    await Promise.all(keys.map((key) => fixture.send({ key }, counting())))
  }
  expect([registry.awakeCount, registry.namedCount]).toEqual(before)
  expect(fixture.calls).toHaveLength(1_001)
})

test('a user with too many stored answers gets no new keys, and still gets the stored answers', async () => {
  const ask = (key: string, more: Partial<Asked> = {}) =>
    fixture.send({ key, session: 'S', ...more }, () => ({ status: 200, text: `"${key.padEnd(998, ' ')}"` }))
  const answers = []
  for (let count = 0; count < 5; count++) answers.push((await ask(`k${count}`)).slice(0, 7))
  expect(answers).toEqual(['200 "k0', '200 "k1', '200 "k2', '429 too', '429 too'])
  expect([await ask('k0'), fixture.stored({ key: 'k3' }), fixture.calls.length]).toEqual([
    `200 "${'k0'.padEnd(998, ' ')}"`,
    undefined,
    3,
  ])
  expect(await ask('k3', { user: 'crn#user:U2' })).toMatch(/^200/)
  expect(await ask('k3', { session: '' })).toMatch(/^200/)
  // The budget is full again after a day.
  fixture.world.spend((keyLifetimeMs * 1_000) / userBytesMax)
  expect(await ask('k4')).toMatch(/^200/)
})
