import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { argon2Engine } from '#iam/argon2'

/** How nice the threads of this process are, as Linux has it: the 19th field of their `stat`. */
function niceness(): number[] {
  return readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}

describe('passwords', () => {
  test('are hashed with argon2id at what it costs by OWASP, each time anew', async () => {
    const [one, other] = await Promise.all([argon2Engine.hash('correct horse'), argon2Engine.hash('correct horse')])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.toBe(other)
  })

  test('many at once are each answered with what belongs to them', async () => {
    const names = ['a', 'b', 'c', 'ü'.repeat(64)]
    const hashes = await Promise.all(names.map((name) => argon2Engine.hash(name)))
    const checks = hashes.flatMap((hash) => names.map((name) => argon2Engine.verify(hash, name)))
    const wanted = names.flatMap((own) => names.map((name) => name === own))
    expect(await Promise.all(checks)).toEqual(wanted)
  })

  test('that cannot be compared are refused, and those behind them are answered', async () => {
    const hash = argon2Engine.hash('correct horse')
    await expect(argon2Engine.verify('no hash', 'correct horse')).rejects.toThrow()
    expect(await argon2Engine.verify(await hash, 'correct horse')).toBe(true)
  })

  test.runIf(process.platform === 'linux')('are hashed in a thread below all others', async () => {
    await argon2Engine.hash('correct horse')
    const [own = 0] = niceness()
    expect(niceness().filter((nice) => nice > own)).toEqual([19])
  })
})
