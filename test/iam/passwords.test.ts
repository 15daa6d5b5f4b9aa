import { describe, expect, test } from 'vitest'
import { argon2Engine } from '#iam/argon2'
import type { PasswordEngine } from '#iam/password-hashing'
import { dummyHash, Passwords } from '#iam/passwords'
import { Problem } from '#model/problem'
import { plainEngine } from '#test/iam/plain-hashing'

/** Both keep the same contract. */
describe.each<[string, () => PasswordEngine]>([
  ['argon2', () => argon2Engine],
  ['the plain one', plainEngine],
])('an engine: %s', (_, make) => {
  const engine = make()

  test.each(['correct horse battery', 'pässwörd 🙂', '', 'with\u0000nothing', 'x'.repeat(256)])(
    'knows %j again',
    async (password) => {
      const hash = await engine.hash(password)
      expect(await engine.verify(hash, password)).toBe(true)
      expect(await engine.verify(hash, `${password} `)).toBe(false)
      expect(await engine.verify(hash, password.slice(1) || 'a')).toBe(false)
    },
  )

  test('gives another text each time', async () => {
    expect(await engine.hash('the same')).not.toBe(await engine.hash('the same'))
  })
})

describe('argon2', () => {
  const costOf = (hash: string) => hash.split('$').slice(0, 4).join('$')

  test('costs what was decided, and the dummy costs the same', async () => {
    const hash = await argon2Engine.hash('a password of somebody')
    expect(costOf(hash)).toBe('$argon2id$v=19$m=12288,t=3,p=1')
    expect(costOf(dummyHash)).toBe(costOf(hash))
    expect(dummyHash).toHaveLength(hash.length)
    expect(hash).not.toContain('somebody')
  })

  test('reads the dummy, which is nobody’s', async () => {
    expect(await argon2Engine.verify(dummyHash, '')).toBe(false)
    await expect(argon2Engine.verify('no hash', 'a')).rejects.toThrow()
  })
})

/** An engine that does each piece of work when it is told to. */
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
  }
  const step = async (isRight = true) => {
    ends.shift()?.(isRight)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { engine, begun, step }
}

describe('passwords', () => {
  test('are taken one at a time, in order', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const answers = ['a', 'b', 'c'].map((password) => passwords.verify('x', password))
    expect(begun).toEqual(['a'])
    await step()
    expect(begun).toEqual(['a', 'b'])
    await step()
    await step()
    expect(await Promise.all(answers)).toEqual([true, true, true])
    expect(passwords.counts).toEqual({ hashes: 3, refused: 0 })
  })

  test('beyond 32 are refused at once, and taken again when there is room', async () => {
    const { engine, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const waiting = Array.from({ length: 32 }, (_, index) => passwords.hash(`${index}`))
    const refusal = passwords.hash('one more')
    await expect(refusal).rejects.toThrow(expect.objectContaining({ code: 'overloaded' }))
    await expect(refusal).rejects.toBeInstanceOf(Problem)
    expect(passwords.counts.refused).toBe(1)
    await step()
    const late = passwords.hash('later')
    for (let count = 0; count < 32; count++) await step()
    expect(await Promise.all(waiting)).toHaveLength(32)
    expect(await late).toBe('hash of later')
  })

  test('rest beside a busy loop, as the first after a rest does too, and not beside another', async () => {
    const { engine, begun, step } = steppedEngine()
    const rests: { readonly restMs: number; readonly end: () => void }[] = []
    const loop = { share: 0.9 }
    const passwords = new Passwords(engine, {
      after: (restMs, end) => rests.push({ restMs, end }),
      loopShare: () => loop.share,
    })
    const answers = ['a', 'b'].map((password) => passwords.verify('x', password))
    await step()
    expect([begun, rests.map(({ restMs }) => restMs)]).toEqual([['a'], [100]])
    rests.shift()?.end()
    expect(begun).toEqual(['a', 'b'])
    await step()
    answers.push(passwords.verify('x', 'c'))
    expect(begun).toEqual(['a', 'b'])
    rests.shift()?.end()
    loop.share = 0.1
    await step()
    answers.push(passwords.verify('x', 'd'))
    expect([begun, rests]).toEqual([['a', 'b', 'c', 'd'], []])
    await step()
    expect(await Promise.all(answers)).toEqual([true, true, true, true])
  })

  test('that could not be checked hold up nobody behind them', async () => {
    const { engine, step } = steppedEngine()
    const passwords = new Passwords(engine)
    const first = passwords.verify('x', 'a')
    const second = passwords.verify('x', 'b')
    const failure = expect(first).rejects.toThrow('broken')
    await step(false)
    await failure
    await step()
    expect(await second).toBe(true)
  })

  test('that the engine throws at hold up nobody behind them either', async () => {
    const engine = plainEngine()
    const broken: PasswordEngine = {
      ...engine,
      hash: (password) => {
        if (password === 'a') throw new Error('broken')
        return engine.hash(password)
      },
    }
    const passwords = new Passwords(broken)
    const first = passwords.hash('a')
    const second = passwords.hash('b')
    await expect(first).rejects.toThrow('broken')
    expect(await passwords.verify(await second, 'b')).toBe(true)
  })

  test('of nobody cost one hash like those of somebody, and are never right', async () => {
    const engine = plainEngine()
    const passwords = new Passwords(engine)
    expect(await passwords.verify(undefined, 'a')).toBe(false)
    expect(await passwords.verify(await passwords.hash('b'), 'a')).toBe(false)
    expect(engine.calls.filter((call) => call.startsWith('verify'))).toHaveLength(2)
    expect(await new Passwords({ ...engine, verify: async () => true }).verify(undefined, 'a')).toBe(false)
  })

  test('are the same however they were put together', async () => {
    const passwords = new Passwords(plainEngine())
    const hash = await passwords.hash('pa\u0308sswo\u0308rd')
    expect(await passwords.verify(hash, 'p\u00e4ssw\u00f6rd')).toBe(true)
    expect(await passwords.verify(hash, 'passwo\u0308rd')).toBe(false)
  })

  test('are not looked at when something has come up while they waited', async () => {
    const { engine, begun, step } = steppedEngine()
    const passwords = new Passwords(engine)
    let isShut = false
    const before = () => {
      if (isShut) throw new Problem('too_many_requests')
    }
    const first = passwords.verify('x', 'a', before)
    const second = passwords.verify('x', 'b', before)
    const refused = expect(second).rejects.toThrow(expect.objectContaining({ code: 'too_many_requests' }))
    isShut = true
    await step()
    expect(await first).toBe(true)
    await refused
    expect(begun).toEqual(['a'])
  })
})
