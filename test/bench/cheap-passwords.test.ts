import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

const run = promisify(execFile)

test('new passwords cost as little as they can, and are checked all the same', async () => {
  const built = (path: string) => pathToFileURL(join(projectRoot, 'dist', path)).href
  const program = `
    const { argon2Engine } = await import(${JSON.stringify(built('src/iam/argon2.js'))})
    const hash = await argon2Engine.hash('correct horse')
    const checks = ['correct horse', 'correct house'].map((password) => argon2Engine.verify(hash, password))
    console.log(JSON.stringify([hash, ...(await Promise.all(checks))]))
  `
  const preload = built('bench/harness/cheap-passwords.js')
  const { stdout } = await run(process.execPath, ['--import', preload, '--input-type=module', '-e', program])
  const [hash, ...checks] = JSON.parse(stdout) as [string, ...boolean[]]
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$/)
  expect(checks).toEqual([true, false])
})
