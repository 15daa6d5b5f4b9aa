import { describe, expect, test } from 'vitest'
import { diskStateAfter } from '#bench/proof/power/disk-state'
import type { FileOperation } from '#bench/proof/power/file-operations'
import { SeededRandom } from '#bench/random'

const create = (path: string, file: number): FileOperation => ({ kind: 'create', path, file })
const write = (file: number, at: number, text: string): FileOperation => ({
  kind: 'write',
  file,
  at,
  bytes: Buffer.from(text),
})
const sync = (file: number): FileOperation => ({ kind: 'sync', file })

/** The disk states of 300 seeds: files as `path=content`. */
function statesOf(operations: readonly FileOperation[]): ReadonlySet<string> {
  const states = new Set<string>()
  for (let seed = 1; seed <= 300; seed++) {
    const { files } = diskStateAfter(operations, new SeededRandom(seed))
    states.add([...files].map(([path, bytes]) => `${path}=${Buffer.from(bytes)}`).join(' '))
  }
  return states
}

describe('a disk after a power loss', () => {
  test('always has synced files', () => {
    expect(statesOf([create('a', 1), write(1, 0, 'kept'), sync(1)])).toEqual(new Set(['a=kept']))
  })

  test('may have nothing, a part, zeros or all of unsynced bytes', () => {
    const states = statesOf([create('a', 1), write(1, 0, 'kept'), sync(1), write(1, 4, 'loose')])
    for (const state of ['a=kept', 'a=keptl', 'a=keptloose', 'a=kept\0\0\0\0\0']) expect(states).toContain(state)
    for (const state of states) expect(state).toMatch(/^a=kept(l?o?o?s?e?|\0{5})$/)
  })

  test('may lack names after the last sync, and has earlier names before later ones', () => {
    const states = statesOf([create('a', 1), sync(1), create('b', 2), create('c', 3), { kind: 'remove', path: 'a' }])
    expect(states).toEqual(new Set(['a=', 'a= b=', 'a= b= c=', 'b= c=']))
  })

  test('has either the old or the new file after a rename', () => {
    const replaced: readonly FileOperation[] = [
      create('CURRENT', 1),
      write(1, 0, 'one'),
      sync(1),
      create('tmp', 2),
      write(2, 0, 'two'),
      { kind: 'rename', from: 'tmp', to: 'CURRENT' },
    ]
    for (const state of statesOf(replaced)) expect(state).toMatch(/^CURRENT=(one|two)( tmp=.*)?$/)
    expect(statesOf([...replaced, { kind: 'sync_folder', path: '.' }])).toEqual(new Set(['CURRENT=two']))
  })

  test('may have an empty file with a synced name', () => {
    const states = statesOf([create('a', 1), write(1, 0, 'loose'), { kind: 'sync_folder', path: '.' }])
    expect(states).toContain('a=')
    expect(states).not.toContain('')
  })
})
