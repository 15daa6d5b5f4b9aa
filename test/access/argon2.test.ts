import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Level } from 'level'
import { describe, expect, test } from 'vitest'
import { argon2Engine } from '#access/argon2'

/** Processes that this one has begun, with how nice they are: the 4th and the 19th field of their `stat`. */
function children(): { readonly processId: number; readonly nice: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const fields = statOf(name)
      return Number(fields[1]) === process.pid ? [{ processId: Number(name), nice: Number(fields[16]) }] : []
    })
}

/** From the 3rd field on; empty for a process that is gone. */
function statOf(name: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** What a process has open. */
function filesOf(processId: number | string): string[] {
  const folder = `/proc/${processId}/fd`
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))]
    } catch {
      return []
    }
  })
}

describe('passwords', () => {
  test('are hashed with argon2id at what it costs by OWASP, each time anew', async () => {
    const [one, other] = await Promise.all([argon2Engine.hash('correct horse'), argon2Engine.hash('correct horse')])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=12288,t=3,p=1\$/)
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

  test.runIf(process.platform === 'linux')(
    'are hashed in a process below the others, which ends and is begun anew',
    async () => {
      await argon2Engine.hash('correct horse')
      const [one, ...others] = children()
      expect([one?.nice, others]).toEqual([10, []])
      // Stopped first: it might be faster than we are.
      process.kill(one?.processId ?? 0, 'SIGSTOP')
      const unanswered = argon2Engine.hash('correct horse')
      process.kill(one?.processId ?? 0, 'SIGKILL')
      await expect(unanswered).rejects.toThrow('the password process ended')
      // What the terminal sends to all of us does not end it: who waits is answered.
      const answered = argon2Engine.hash('correct horse')
      await expect.poll(() => children()[0]?.nice).toBe(10)
      const [another] = children()
      expect(another?.processId).not.toBe(one?.processId)
      process.kill(another?.processId ?? 0, 'SIGTERM')
      expect(await answered).toContain('argon2id')
      expect(await argon2Engine.verify(await answered, 'correct horse')).toBe(true)
      expect(children().map(({ processId }) => processId)).toEqual([another?.processId])
    },
  )

  test.runIf(process.platform === 'linux')('keep no file of a database open that was there before', async () => {
    for (const { processId } of children()) process.kill(processId, 'SIGKILL')
    await expect.poll(children).toEqual([])
    const folder = mkdtempSync(join(tmpdir(), 'argon2-'))
    const database = new Level(folder)
    try {
      await database.open()
      expect(filesOf('self').filter((name) => name.startsWith(folder))).not.toEqual([])
      argon2Engine.begin()
      await argon2Engine.hash('correct horse')
      const [child] = children()
      expect(filesOf(child?.processId ?? 0).filter((name) => name.startsWith(folder))).toEqual([])
    } finally {
      await database.close()
      rmSync(folder, { recursive: true })
    }
  })
})
