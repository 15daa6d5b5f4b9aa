import { describe, expect, test } from 'vitest'
import { argon2Engine, dummyHash, type HashRequester, type PasswordEngine, Passwords } from '#access/passwords'
import { Problem } from '#model/problem'
import { plainEngine } from '#test/access/plain-hashing'

/** Both engines meet the contract of `PasswordEngine`. */
describe.each<[string, () => PasswordEngine]>([
  ['argon2', () => argon2Engine],
  ['the plain engine', plainEngine],
])('a password engine: %s', (_, make) => {
  const engine = make()

  test.each(['correct horse battery', 'pässwörd 🙂', '', 'with\u0000nothing', 'x'.repeat(256)])(
    'verifies %j',
    async (password) => {
      const hash = await engine.hash(password)
      expect(await engine.verify(hash, password)).toBe(true)
      expect(await engine.verify(hash, `${password} `)).toBe(false)
      expect(await engine.verify(hash, password.slice(1) || 'a')).toBe(false)
    },
  )

  test('gives another hash of the same password each time', async () => {
    expect(await engine.hash('the same')).not.toBe(await engine.hash('the same'))
  })
})

describe('argon2', () => {
  const costOf = (hash: string) => hash.split('$').slice(0, 4).join('$')

  test('hashes with the chosen cost, and the dummy hash has the same cost', async () => {
    const hash = await argon2Engine.hash('a password of a user')
    expect(costOf(hash)).toBe('$argon2id$v=19$m=12288,t=3,p=1')
    expect(costOf(dummyHash)).toBe(costOf(hash))
    expect(dummyHash).toHaveLength(hash.length)
    expect(hash).not.toContain('password')
  })

  test.each([
    ['the present cost', dummyHash, true],
    ['less memory', dummyHash.replace('m=12288', 'm=1228'), false],
    ['the earlier cost of argon2', dummyHash.replace('m=12288,t=3', 'm=19456,t=2'), false],
    ['another number of lanes', dummyHash.replace('p=1$', 'p=10$'), false],
    ['another variant', dummyHash.replace('argon2id', 'argon2i'), false],
  ])('recognises whether a hash has the present cost: %s', (_, hash, isCurrent) => {
    expect(argon2Engine.isCurrent(hash)).toBe(isCurrent)
  })

  test('accepts the dummy hash, which matches no password', async () => {
    expect(await argon2Engine.verify(dummyHash, '')).toBe(false)
    await expect(argon2Engine.verify('no hash', 'a')).rejects.toThrow()
  })
})

/** An engine whose oldest job ends at each call of `step`. */
function steppedEngine() {
  const begun: string[] = []
  const ends: ((isRight: boolean) => void)[] = []
  const engine: PasswordEngine = {
    hash: (password) => {
      begun.push(password)
      return new Promise((resolve) => ends.push(() => resolve(`hash of ${password}`)))
    },
    verify: (_, password) => {
      begun.push(password)
      return new Promise((resolve, reject) => ends.push((is) => (is ? resolve(true) : reject(new Error('broken')))))
    },
    isCurrent: () => true,
  }
  const step = async (isRight = true) => {
    ends.shift()?.(isRight)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { engine, begun, step }
}

const requester = { address: '192.0.2.1' }
const requesterAt = (index: number) => ({ address: `192.0.2.${index}` })
const overloaded = expect.objectContaining({ code: 'overloaded' })

/** Resolves to true if the password matches the hash. */
function check(passwords: Passwords, hash: string | undefined, password: string, from: HashRequester = requester) {
  return passwords.verify(
    () => [{ hash }],
    password,
    from,
    (right) => right.length === 1,
  )
}

describe('passwords', () => {
  test('are hashed one at a time, in order', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const answers = ['a', 'b', 'c'].map((password) => check(passwords, 'x', password))
    expect([begun, passwords.waitingCount]).toEqual([['a'], 3])
    await step()
    expect(begun).toEqual(['a', 'b'])
    await step()
    await step()
    expect(await Promise.all(answers)).toEqual([true, true, true])
    expect(passwords.counts).toEqual({ hashes: 3, refused: 0 })
  })

  test('are refused while 32 others wait, and accepted again when one of these is hashed', async () => {
    const { engine, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const waiting = Array.from({ length: 33 }, (_, index) => passwords.hash(`${index}`, requester))
    expect(() => passwords.checkQueueSpace(requester.address)).toThrow(overloaded)
    const refusal = passwords.hash('one more', requester)
    await expect(refusal).rejects.toThrow(overloaded)
    await expect(refusal).rejects.toBeInstanceOf(Problem)
    expect(passwords.counts.refused).toBe(2)
    await step()
    passwords.checkQueueSpace(requester.address)
    const late = passwords.hash('later', requester)
    for (let count = 0; count < 33; count++) await step()
    expect(await Promise.all(waiting)).toHaveLength(33)
    expect(await late).toBe('hash of later')
  })

  test('of an address with many attempts do not delay other addresses', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const many = Array.from({ length: 33 }, (_, index) => passwords.hash(`guess ${index}`, requester))
    const evicted = expect(many[32]).rejects.toThrow(overloaded)
    expect(() => passwords.checkQueueSpace(requester.address)).toThrow(overloaded)
    passwords.checkQueueSpace('198.51.100.1')
    const owner = check(passwords, 'x', 'of the owner', { address: '198.51.100.1' })
    await evicted
    await step()
    await step()
    expect(begun).toEqual(['guess 0', 'guess 1', 'of the owner'])
    await step()
    expect(await owner).toBe(true)
    for (let count = 3; count < 33; count++) await step()
    expect(await Promise.all(many.slice(0, 32))).toHaveLength(32)
  })

  test('from many addresses of one IPv6 network do not delay other networks', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const many = Array.from({ length: 4 }, (_, index) => passwords.hash(`${index}`, { address: `2001:db8::${index}` }))
    const other = passwords.hash('other', { address: '2001:db8:0:1::1' })
    for (let count = 0; count < 5; count++) await step()
    expect(await Promise.all([...many, other])).toHaveLength(5)
    expect(begun).toEqual(['0', '1', 'other', '2', '3'])
  })

  test('whose callers have disconnected are dropped, and free their places at once', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const [early, late] = [new AbortController(), new AbortController()]
    const answers = ['a', 'b'].map((password) => check(passwords, 'x', password))
    const left = check(passwords, 'x', 'left', { ...requester, signal: early.signal })
    const atWork = check(passwords, 'x', 'at work', { ...requester, signal: late.signal })
    expect(passwords.waitingCount).toBe(4)
    early.abort()
    await expect(left).rejects.toThrow(overloaded)
    expect(passwords.waitingCount).toBe(3)
    await step()
    await step()
    late.abort()
    await step()
    expect(await Promise.all([...answers, atWork])).toEqual([true, true, true])
    await expect(check(passwords, 'x', 'never', { ...requester, signal: late.signal })).rejects.toThrow(overloaded)
    expect([begun, passwords.counts.refused]).toEqual([['a', 'b', 'at work'], 0])
  })

  /** The pauses while this many passwords are checked, each from another address. */
  async function pausesOf(count: number, candidates = 1): Promise<number[]> {
    const { engine, step } = steppedEngine()
    const pauses: number[] = []
    const ends: (() => void)[] = []
    const passwords = new Passwords(engine, {
      after: (pauseMs, end) => {
        pauses.push(pauseMs)
        ends.push(end)
      },
      loopShare: () => 0.9,
    })
    const hashes = Array.from({ length: candidates }, () => ({ hash: 'x' }))
    const ask = (_: unknown, index: number) =>
      passwords.verify(
        () => hashes,
        'a',
        requesterAt(index),
        (right) => right.length,
      )
    const answers = Array.from({ length: count }, ask)
    for (let index = 0; index < count; index++) {
      for (let done = 0; done < candidates; done++) await step()
      ends.shift()?.()
    }
    expect(await Promise.all(answers)).toEqual(answers.map(() => candidates))
    return pauses
  }

  test('have pauses while the loop is busy, shorter ones if more passwords wait, longer ones after more hashes', async () => {
    expect(await pausesOf(2)).toEqual([100, 100])
    expect(await pausesOf(9)).toEqual([50, 57, 67, 80, 100, 100, 100, 100, 100])
    expect((await pausesOf(33))[0]).toBe(13)
    expect(await pausesOf(2, 3)).toEqual([300, 300])
  })

  test('have pauses only while the loop is busy, even if the queue was empty before', async () => {
    const { engine, begun, step } = steppedEngine()
    const pauses: { readonly pauseMs: number; readonly end: () => void }[] = []
    const loop = { share: 0.9 }
    const passwords = new Passwords(engine, {
      after: (pauseMs, end) => pauses.push({ pauseMs, end }),
      loopShare: () => loop.share,
    })
    const answers = ['a', 'b'].map((password) => check(passwords, 'x', password))
    await step()
    expect([begun, pauses.map(({ pauseMs }) => pauseMs)]).toEqual([['a'], [100]])
    pauses.shift()?.end()
    expect(begun).toEqual(['a', 'b'])
    await step()
    answers.push(check(passwords, 'x', 'c'))
    expect(begun).toEqual(['a', 'b'])
    pauses.shift()?.end()
    loop.share = 0.1
    await step()
    answers.push(check(passwords, 'x', 'd'))
    expect([begun, pauses]).toEqual([['a', 'b', 'c', 'd'], []])
    await step()
    expect(await Promise.all(answers)).toEqual([true, true, true, true])
  })

  test('that cannot be checked do not delay later ones', async () => {
    const { engine, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const first = check(passwords, 'x', 'a')
    const second = check(passwords, 'x', 'b')
    const failure = expect(first).rejects.toThrow('broken')
    await step(false)
    await failure
    await step()
    expect(await second).toBe(true)
  })

  test('that make the engine throw do not delay later ones either', async () => {
    const engine = plainEngine()
    const broken: PasswordEngine = {
      ...engine,
      hash: (password) => {
        if (password === 'a') throw new Error('broken')
        return engine.hash(password)
      },
    }
    const passwords = new Passwords(broken)
    const first = passwords.hash('a', requester)
    const second = passwords.hash('b', requester)
    await expect(first).rejects.toThrow('broken')
    expect(await check(passwords, await second, 'b')).toBe(true)
  })

  test('of unknown users cost one hash, as those of other users do, and never match', async () => {
    const engine = plainEngine()
    const passwords = new Passwords(engine)
    expect(await check(passwords, undefined, 'a')).toBe(false)
    expect(await check(passwords, await passwords.hash('b', requester), 'a')).toBe(false)
    expect(engine.calls.filter((call) => call.startsWith('verify'))).toHaveLength(2)
    expect(await check(new Passwords({ ...engine, verify: async () => true }), undefined, 'a')).toBe(false)
  })

  test('for several possible accounts are checked as one job of the queue', async () => {
    const engine = plainEngine()
    const passwords = new Passwords(engine)
    const hashes = await Promise.all(['a', 'b', 'a'].map((password) => passwords.hash(password, requester)))
    const candidates = [...hashes, undefined].map((hash, name) => ({ hash, name }))
    const verdict = passwords.verify(
      () => candidates,
      'a',
      requester,
      (right, wrong) => [right, wrong].map((some) => some.map(({ name }) => name)),
    )
    const next = check(passwords, hashes[1], 'b')
    expect([await verdict, await next]).toEqual([
      [
        [0, 2],
        [1, 3],
      ],
      true,
    ])
    expect(engine.calls.slice(3)).toEqual([...Array(4).fill('verify a'), 'verify b'])
  })

  test('are the same in composed and decomposed Unicode', async () => {
    const passwords = new Passwords(plainEngine())
    const hash = await passwords.hash('pa\u0308sswo\u0308rd', requester)
    expect(await check(passwords, hash, 'p\u00e4ssw\u00f6rd')).toBe(true)
    expect(await check(passwords, hash, 'passwo\u0308rd')).toBe(false)
  })

  test('are not checked if the caller is refused while they wait', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    let isShut = false
    const candidates = () => {
      if (isShut) throw new Problem('too_many_requests')
      return [{ hash: 'x' }]
    }
    const ask = (password: string) =>
      passwords.verify(candidates, password, requester, () => {
        isShut = true
      })
    const first = ask('a')
    const second = expect(ask('b')).rejects.toThrow(expect.objectContaining({ code: 'too_many_requests' }))
    await step()
    await first
    await second
    expect(begun).toEqual(['a'])
  })
})
