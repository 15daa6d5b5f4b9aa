import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Level } from 'level'

/** Every row of the store, keys and values, and every other file that lies beside it. */
export async function storedIn(folder: string): Promise<string> {
  const pieces: string[] = []
  const database = new Level<Buffer, Buffer>(join(folder, 'db'), { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  for await (const [key, value] of database.iterator()) pieces.push(key.toString('latin1'), value.toString('latin1'))
  await database.close()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })) {
    if (name.isFile()) pieces.push(readFileSync(join(name.parentPath, name.name), 'latin1'))
  }
  return pieces.join('\n')
}
