import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyDataFolder } from '#bench/harness/data-folder'

test('a copy shares tables alone, so that neither folder changes the other', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'data-folder-'))
  try {
    const [from, to] = [join(folder, 'from'), join(folder, 'to')]
    await mkdir(join(from, 'db'), { recursive: true })
    const names = ['000005.ldb', '000007.log', 'CURRENT', 'LOCK', 'MANIFEST-000004']
    for (const name of names) await writeFile(join(from, 'db', name), name)
    await writeFile(join(from, 'headroom'), 'room')
    await copyDataFolder(from, to)
    expect(await readdir(to)).toEqual(['db', 'headroom'])
    const copied = names.filter((name) => name !== 'LOCK')
    expect((await readdir(join(to, 'db'))).sort()).toEqual(copied)
    for (const name of copied) {
      const [before, after] = [join(from, 'db', name), join(to, 'db', name)]
      expect(await readFile(after, 'utf8')).toBe(name)
      expect((await stat(before)).ino === (await stat(after)).ino).toBe(name.endsWith('.ldb'))
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
