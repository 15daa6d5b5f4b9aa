import { describe, expect, test } from 'vitest'
import { diskStateAfter } from '#bench/proof/power/disk-state'
import type { FileOperation } from '#bench/proof/power/file-operations'
import { SeededRandom } from '#bench/random'

/** What a power loss may leave, tried by all chances there are: what must be there always is, what may be missing once is. */

const create = (path: string, file: number): FileOperation => ({ kind: 'create', path, file })
const write = (file: number, at: number, text: string): FileOperation => ({
  kind: 'write',
  file,
  at,
  bytes: Buffer.from(text),
})
const sync = (file: number): FileOperation => ({ kind: 'sync', file })

/** What came of 300 chances: files as `path=content`, by how often. */
function statesOf(operations: readonly FileOperation[]): ReadonlySet<string> {
  const states = new Set<string>()
  for (let seed = 1; seed <= 300; seed++) {
    const { files } = diskStateAfter(operations, new SeededRandom(seed))
    states.add([...files].map(([path, bytes]) => `${path}=${Buffer.from(bytes)}`).join(' '))
  }
  return states
}

describe('a disk behind a power loss', () => {
  test('holds what was synced, with its name, always', () => {
    expect(statesOf([create('a', 1), write(1, 0, 'kept'), sync(1)])).toEqual(new Set(['a=kept']))
  })

  test('may hold nothing, less, zeros or all of what was not', () => {
    const states = statesOf([create('a', 1), write(1, 0, 'kept'), sync(1), write(1, 4, 'loose')])
    for (const state of ['a=kept', 'a=keptl', 'a=keptloose', 'a=kept\0\0\0\0\0']) expect(states).toContain(state)
    for (const state of states) expect(state).toMatch(/^a=kept(l?o?o?s?e?|\0{5})$/)
  })

  test('may lack a name that was given after the last sync of anything, and holds names in their order', () => {
    const states = statesOf([create('a', 1), sync(1), create('b', 2), create('c', 3), { kind: 'remove', path: 'a' }])
    expect(states).toEqual(new Set(['a=', 'a= b=', 'a= b= c=', 'b= c=']))
  })

  test('has what took the place of another whole, or the other', () => {
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

  test('a name that a synced folder holds may still lead to a file without its bytes', () => {
    const states = statesOf([create('a', 1), write(1, 0, 'loose'), { kind: 'sync_folder', path: '.' }])
    expect(states).toContain('a=')
    expect(states).not.toContain('')
  })
})
