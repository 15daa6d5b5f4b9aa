import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Level } from 'level'
import { describe, expect, test } from 'vitest'
import { argon2Engine } from '#access/passwords'

/** The child processes of this process, with their nice values. `stat` has the parent in field 4, nice in 19. */
function children(): { readonly processId: number; readonly nice: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const fields = statOf(name)
      return Number(fields[1]) === process.pid ? [{ processId: Number(name), nice: Number(fields[16]) }] : []
    })
}

/** The fields of `stat` from the third on; empty for a process that ended. */
function statOf(name: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** The open files of a process. */
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

describe('passwords with argon2', () => {
  test('that are checked at the same time each get their own result', async () => {
    const names = ['a', 'b', 'c', 'ü'.repeat(64)]
    const hashes = await Promise.all(names.map((name) => argon2Engine.hash(name)))
    const checks = hashes.flatMap((hash) => names.map((name) => argon2Engine.verify(hash, name)))
    const wanted = names.flatMap((own) => names.map((name) => name === own))
    expect(await Promise.all(checks)).toEqual(wanted)
  })

  test('cannot be checked against an invalid hash, and later checks are answered', async () => {
    const hash = argon2Engine.hash('correct horse')
    await expect(argon2Engine.verify('no hash', 'correct horse')).rejects.toThrow()
    expect(await argon2Engine.verify(await hash, 'correct horse')).toBe(true)
  })

  test.runIf(process.platform === 'linux')(
    'are hashed in a process of lower priority, which is restarted when it ends',
    async () => {
      await argon2Engine.hash('correct horse')
      const [one, ...others] = children()
      expect([one?.nice, others]).toEqual([10, []])
      // The child is stopped first, because otherwise it may answer before SIGKILL arrives.
      process.kill(one?.processId ?? 0, 'SIGSTOP')
      const unanswered = argon2Engine.hash('correct horse')
      process.kill(one?.processId ?? 0, 'SIGKILL')
      await expect(unanswered).rejects.toThrow('the password process ended')
      // Signals that the whole group of processes receives do not end the child, so that pending requests are answered.
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

  test.runIf(process.platform === 'linux')('are hashed without inherited files of the database', async () => {
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
