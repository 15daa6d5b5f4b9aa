import { describe, expect, test } from 'vitest'
import { keyLifetimeMs } from '#actors/idempotency/state'
import type { Answerer, Reply } from '#http/call'
import { bodyOf } from '#http/write-reply'
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
function seen(reply: Reply) {
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
  async running(stage: IdempotencyFixture) {
    void stage.run(same, pending().answer).catch(() => {})
    await stage.world.settle()
  },
  async open(stage: IdempotencyFixture) {
    const refused = await stage.send(same, () => {
      throw new Problem('device_timeout')
    })
    expect(refused).toBe('504 device_timeout')
  },
  async answered(stage: IdempotencyFixture) {
    const reply = { status: 201, headers: { Location: '/made' }, json: { first: true } }
    expect(await stage.send(same, () => reply)).toBe('201 /made {"first":true}')
  },
  async expired(stage: IdempotencyFixture) {
    await stages.answered(stage)
    stage.world.spend(keyLifetimeMs)
  },
}

const expected: Readonly<Record<keyof typeof stages, Readonly<Record<'same' | 'other', string>>>> = {
  running: { same: '409 conflict', other: '422 unprocessable' },
  open: { same: '200 {"count":1}', other: '422 unprocessable' },
  answered: { same: '201 /made {"first":true}', other: '422 unprocessable' },
  expired: { same: '200 {"count":1}', other: '200 {"count":1}' },
}

describe.each(Object.keys(stages) as (keyof typeof stages)[])('a key of a request that is %s', (name) => {
  const opened = async () => {
    const stage = await IdempotencyFixture.open()
    await stages[name](stage)
    return stage
  }

  test('names the same request of the same user', async () => {
    const stage = await opened()
    expect(await stage.send(same, counting())).toBe(expected[name].same)
    const [first, second] = stage.calls
    expect(stage.calls.length).toBe(expected[name].same.includes('count') ? 2 : 1)
    if (!second) return
    expect(second.isRepeated).toBe(name === 'open')
    expect(Buffer.compare(second.seed, first?.seed ?? second.seed) === 0).toBe(name === 'open')
  })

  test.each(Object.entries(others))('with another %s is another request', async (_, other) => {
    const stage = await opened()
    expect(await stage.send(other, counting())).toBe(expected[name].other)
  })

  test.each(Object.entries(strangers))('of another %s is another key', async (_, stranger) => {
    const stage = await opened()
    expect(await stage.send(stranger, counting())).toBe('200 {"count":1}')
    expect(stage.calls.at(-1)?.isRepeated).toBe(false)
    expect(stage.calls.at(-1)?.seed).not.toEqual(stage.calls[0]?.seed)
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
    const stage = await IdempotencyFixture.open()
    const first = seen(await stage.reply(same, () => reply))
    expect(first).toEqual(seen(reply))
    expect(seen(await stage.reply(same, counting()))).toEqual(first)
    expect(stage.calls).toHaveLength(1)
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
  const gone = ['not_found', 'not_found_empty', 'device_unknown', 'service_unknown', 'property_unknown']
  test.each(refusals)('for an error: %s', async (code) => {
    const stage = await IdempotencyFixture.open()
    const refuse = () => {
      throw new Problem(code, 'repeated', { details: [{ path: 'a', message: 'b' }] })
    }
    const first = await stage.send(same, refuse)
    const again = await stage.send(same, () => ({ status: 200, json: 'run again' }))
    const isKept = [...final, ...gone, 'unprocessable'].includes(code)
    expect(first.startsWith(String(problemKinds[code].status))).toBe(true)
    expect(again).toBe(isKept ? first : '200 "run again"')
    expect(stage.calls.at(-1)?.isRepeated).toBe(!isKept)
  })

  test('is missing after a failure, and the request runs again', async () => {
    const stage = await IdempotencyFixture.open()
    const broken = stage.send(same, () => {
      throw new TypeError('broken')
    })
    await expect(broken).rejects.toThrow('broken')
    expect(await stage.send(same, counting())).toBe('200 {"count":1}')
    expect(stage.calls.map(({ isRepeated }) => isRepeated)).toEqual([false, true])
  })

  const forgotten: Readonly<Record<string, () => Reply>> = {
    'that may not be stored': () => ({ status: 200, headers: { 'cache-control': 'private, no-store' }, json: 'x' }),
    'that is streamed': () => ({ status: 200, chunks: (async function* () {})() }),
  }
  test.each(Object.entries(forgotten))('is missing for an answer %s, and its key is dropped', async (_, reply) => {
    const stage = await IdempotencyFixture.open()
    const given = reply()
    expect(await stage.reply(same, () => given)).toBe(given)
    expect(stage.stored()).toBeUndefined()
    expect(await stage.send({ body: 'other' }, counting())).toBe('200 {"count":1}')
    expect(stage.calls.map(({ isRepeated }) => isRepeated)).toEqual([false, false])
  })
})

test('is computed again above the size limit, from the resource of the first request', async () => {
  const stage = await IdempotencyFixture.open()
  const large = () => ({ status: 201, text: `"${'ä'.repeat(storedBytesMax / 2)}"` })
  const first = seen(await stage.reply(same, large))
  expect(seen(await stage.reply(same, large))).toEqual(first)
  expect(stage.calls.map(({ isRepeated }) => isRepeated)).toEqual([false, true])
  expect(stage.calls[1]?.seed).toEqual(stage.calls[0]?.seed)
  expect(await stage.send({ body: 'other' }, counting())).toBe('422 unprocessable')
})

test.each(['', ' ', 'a b', 'a, b', 'ü', 'a\u007f', 'x'.repeat(256)])('%j is not a key: 400', async (key) => {
  const stage = await IdempotencyFixture.open()
  expect(await stage.send({ key }, counting())).toBe('400 bad_request')
  expect([stage.calls.length, stage.writes]).toEqual([0, 0])
})

test.each(['!', '~', '"8e03978e-40d5-43e8-bc93-6894a57f9324"', 'a,b', 'x'.repeat(255)])('%j is a key', async (key) => {
  const stage = await IdempotencyFixture.open()
  expect(await stage.send({ key }, counting())).toBe('200 {"count":1}')
  expect(await stage.send({ key }, counting())).toBe('200 {"count":1}')
  expect(stage.calls).toHaveLength(1)
})

test('a caller known only by the proof of a key has no idempotency keys', async () => {
  const stage = await IdempotencyFixture.open()
  const answer = counting()
  expect(await stage.send({ user: '' }, answer)).toBe('200 {"count":1}')
  expect(await stage.send({ user: '' }, answer)).toBe('200 {"count":2}')
  expect(stage.writes).toBe(0)
})

describe('concurrent requests', () => {
  test('with one key run once out of fifty, and the others get 409', async () => {
    const stage = await IdempotencyFixture.open()
    const heard = await Promise.all(
      Array.from({ length: 50 }, () => stage.send(same, async (call) => await stage.make(call))),
    )
    expect(heard.filter((text) => text === '409 conflict')).toHaveLength(49)
    expect(heard.filter((text) => text.startsWith('201 '))).toHaveLength(1)
    expect([stage.calls.length, stage.made.length, stage.events]).toEqual([1, 1, 1])
  })

  test('that repeat a finished one all get its answer', async () => {
    const stage = await IdempotencyFixture.open()
    const first = await stage.send(same, (call) => stage.make(call))
    const heard = await Promise.all(Array.from({ length: 50 }, () => stage.send(same, counting())))
    expect(new Set(heard)).toEqual(new Set([first]))
  })

  test('get 409 while the answer is being stored, and then the answer', async () => {
    const stage = await IdempotencyFixture.open()
    const { answer, give } = pending()
    const first = stage.run(same, answer)
    await stage.world.settle()
    give({ status: 200, json: 'done' })
    const heard: string[] = []
    for (let step = 0; step < 20; step++) {
      const again = stage.send(same, counting())
      stage.world.step()
      heard.push(await again)
    }
    expect(await stage.heard(first)).toBe('200 "done"')
    expect(heard.join().replace(/(409 conflict,)*(200 "done",?)+/, '')).toBe('')
    expect(stage.calls).toHaveLength(1)
  })

  test('are limited', async () => {
    const stage = await IdempotencyFixture.open()
    const { answer, give } = pending()
    const running = Array.from({ length: runningMax }, (_, index) =>
      stage.run({ key: `k${index}`, isSecret: true }, answer),
    )
    expect(await stage.send({ key: 'x', isSecret: true }, counting())).toBe('503 overloaded')
    expect(await stage.send({ key: 'x' }, counting())).toBe('503 overloaded')
    give({ status: 204 })
    expect(new Set((await Promise.all(running)).map(({ status }) => status))).toEqual(new Set([204]))
    expect(await stage.send({ key: 'x' }, counting())).toBe('200 {"count":1}')
  })
})

describe('a route with secrets', () => {
  const secret: Asked = { isSecret: true, body: '{"password":"correct horse"}' }

  test('stores nothing of a request and runs it again', async () => {
    const stage = await IdempotencyFixture.open()
    const answer = counting()
    expect(await stage.send(secret, answer)).toBe('200 {"count":1}')
    expect(await stage.send(secret, answer)).toBe('200 {"count":2}')
    expect(await stage.send({ ...secret, body: 'other' }, answer)).toBe('200 {"count":3}')
    expect([stage.writes, stage.stored()]).toEqual([0, undefined])
  })

  test.each([
    ['the same request', secret, '409 conflict'],
    ['another', { ...secret, body: '{"password":"wrong horse"}' }, '422 unprocessable'],
    ['a request to another route', { body: '{}' }, '422 unprocessable'],
    ['a request of another user', { ...secret, user: 'crn#user:U2' }, '200 {"count":1}'],
  ])('answers 409 only for the same key while it runs, %s: %s', async (_, asked, heard) => {
    const stage = await IdempotencyFixture.open()
    const { answer, give } = pending()
    const running = stage.run(secret, answer)
    expect(await stage.send(asked, counting())).toBe(heard)
    give({ status: 204 })
    expect(await stage.heard(running)).toBe('204')
  })

  test('passes its errors on', async () => {
    const stage = await IdempotencyFixture.open()
    const refuse = () => {
      throw new Problem('conflict')
    }
    expect(await stage.send(secret, refuse)).toBe('409 conflict')
    expect(await stage.send(secret, counting())).toBe('200 {"count":1}')
  })
})

test.each([
  ['first', 0],
  ['again', 1],
])('answers a closed session that ended while the key was stored with an error: %s', async (_, times) => {
  const stage = await IdempotencyFixture.open()
  for (let count = 0; count < times; count++) await stage.send(same, counting())
  let isCurrent = true
  const reply = stage.run({ isCurrent: () => isCurrent }, counting())
  isCurrent = false
  expect(await stage.heard(reply)).toBe('503 overloaded')
  expect(stage.calls).toHaveLength(times)
})

describe('the lifetime of a key', () => {
  test.each([-30 * 86_400_000, -3_600_000, -1])('survives a clock that is set back by %i ms', async (ms) => {
    const stage = await IdempotencyFixture.open()
    const first = await stage.send(same, (call) => stage.make(call))
    stage.world.spend(ms)
    expect(await stage.send(same, counting())).toBe(first)
    expect(await stage.send({ body: 'other' }, counting())).toBe('422 unprocessable')
    stage.world.spend(keyLifetimeMs - ms)
    expect(await stage.send(same, counting())).toBe('200 {"count":1}')
  })

  test('is 24 hours from its first use, and then the answer is deleted', async () => {
    const stage = await IdempotencyFixture.open()
    const first = await stage.send(same, (call) => stage.make(call))
    stage.world.spend(keyLifetimeMs - 1)
    expect(await stage.send(same, counting())).toBe(first)
    stage.world.spend(1)
    expect(await stage.send(same, counting())).toBe('200 {"count":1}')
  })
})

/** The steps of a request that creates a resource: the key, the resource, the answer. Each is one write. */
const steps = [1, 2, 3]

describe.each(steps)('a failure of write %i', (step) => {
  test.each([
    ['that is lost', false],
    ['that reached the disk', true],
  ])('is answered with 503 if it %s, and a repetition runs once', async (_, reachedDisk) => {
    const stage = await IdempotencyFixture.open()
    stage.onWrite = (count) => (count === step ? { fail: 'full', reachedDisk } : undefined)
    expect(await stage.send(same, (call) => stage.make(call))).toBe('503 storage')
    expect(stage.writes).toBe(step)
    await stage.world.advance(5_000)
    const isBegun = stage.stored() !== undefined
    expect(isBegun).toBe(step > 1 || reachedDisk)
    const first = await stage.send(same, (call) => stage.make(call))
    expect(first).toMatch(/^201 \/things\/\w{10} \{"id":"\w{10}"\}$/)
    expect(await stage.send(same, counting())).toBe(first)
    expect(stage.made).toHaveLength(1)
    // Nothing is published that was stored but not acknowledged, until the repetition.
    const wasAnswered = step === 3 && reachedDisk
    expect(stage.calls.map(({ isRepeated }) => isRepeated)).toEqual(
      step === 1 ? [isBegun] : wasAnswered ? [false] : [false, true],
    )
    expect(stage.bugs).toEqual([])
  })
})

describe.each(steps)('a kill in write %i', (step) => {
  test.each([0, 1])('with %i of it on the disk is repaired by a repetition, which runs once', async (kept) => {
    const stage = await IdempotencyFixture.open()
    stage.onWrite = (count) => {
      if (count === step) stage.die(kept)
      return undefined
    }
    void stage.run(same, (call) => stage.make(call)).catch(() => {})
    await stage.world.settle()
    expect(stage.writes).toBe(step)
    await stage.restart()
    const wasMade = step === 3 || (step === 2 && kept === 1)
    expect(stage.made).toHaveLength(wasMade ? 1 : 0)
    const before = stage.made[0]
    const first = await stage.send(same, (call) => stage.make(call))
    const [id] = stage.made
    expect(first).toBe(`201 /things/${id} {"id":"${id}"}`)
    if (wasMade) expect(id).toBe(before)
    expect(await stage.send(same, counting())).toBe(first)
    expect(stage.made).toHaveLength(1)
    expect(stage.calls).toHaveLength(step === 1 || (step === 3 && kept === 1) ? 1 : 2)
  })
})

test('no request begins while the store refuses writes, and stored answers are repeated', async () => {
  const stage = await IdempotencyFixture.open()
  const first = await stage.send(same, (call) => stage.make(call))
  stage.onWrite = () => ({ fail: 'io', reachedDisk: false })
  expect(await stage.send({ key: 'x' }, counting())).toBe('503 storage')
  await stage.world.advance(60_000)
  expect(await stage.send({ key: 'x' }, counting())).toBe('503 storage')
  expect(await stage.send(same, counting())).toBe(first)
  expect(stage.calls).toHaveLength(1)
})

test('a key has no state outside the store', async () => {
  const stage = await IdempotencyFixture.open()
  await stage.send(same, (call) => stage.make(call))
  const { registry } = stage.system
  const before = [registry.awakeCount, registry.namedCount]
  for (let batch = 0; batch < 10; batch++) {
    const keys = Array.from({ length: 100 }, (_, index) => `k${batch}/${index}`)
    await Promise.all(keys.map((key) => stage.send({ key }, counting())))
    await Promise.all(keys.map((key) => stage.send({ key }, counting())))
  }
  expect([registry.awakeCount, registry.namedCount]).toEqual(before)
  expect(stage.calls).toHaveLength(1_001)
})

test('a user with too many stored answers gets no new keys, and still gets the stored answers', async () => {
  const stage = await IdempotencyFixture.open()
  const ask = (key: string, more: Partial<Asked> = {}) =>
    stage.send({ key, session: 'S', ...more }, () => ({ status: 200, text: `"${key.padEnd(998, ' ')}"` }))
  const answers = []
  for (let count = 0; count < 5; count++) answers.push((await ask(`k${count}`)).slice(0, 7))
  expect(answers).toEqual(['200 "k0', '200 "k1', '200 "k2', '429 too', '429 too'])
  expect([await ask('k0'), stage.stored({ key: 'k3' }), stage.calls.length]).toEqual([
    `200 "${'k0'.padEnd(998, ' ')}"`,
    undefined,
    3,
  ])
  expect(await ask('k3', { user: 'crn#user:U2' })).toMatch(/^200/)
  expect(await ask('k3', { session: '' })).toMatch(/^200/)
  // The budget is full again after a day.
  stage.world.spend((keyLifetimeMs * 1_000) / userBytesMax)
  expect(await ask('k4')).toMatch(/^200/)
})
