import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { newName, Person, report, root, startWithIdentity } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** The example of docs/client.md, as it stands there, by the package's own name and from what was built. */

let server: StartedServer

beforeAll(async () => {
  server = await startWithIdentity()
})
afterAll(() => server?.finish())

test('ten lines show what happens', async () => {
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(projectRoot, 'docs/client.md'), 'utf8')) ?? []
  expect(example.split('\n').filter((line) => line !== '' && !/^[})\s]+$/.test(line)).length).toBeLessThanOrEqual(10)
  const admin = await Person.signIn(server)
  const deviceIdentifier = newName('TEN').toUpperCase()
  const { secret } = (await admin.post('/devices', { deviceIdentifier })).json as { secret: string }
  const flags = process.versions.node.startsWith('20.') ? ['--experimental-websocket'] : []
  // Below package.json, where the package knows itself by its name.
  const program = join(projectRoot, `dist/example-${process.pid}.mjs`)
  writeFileSync(program, example)
  const words = [...flags, program, `http://127.0.0.1:${server.port}`, root.name, root.password]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await until(
      () => said.includes(`${deviceIdentifier} offline`),
      () => `the device in: ${said}`,
    )
    await report(server, { name: deviceIdentifier, password: secret }, 21)
    await until(
      () => said.includes(`${deviceIdentifier} online climate: `),
      () => `the report in: ${said}`,
    )
    await admin.delete(`/devices/${deviceIdentifier}`)
    await until(
      () => said.includes(`${deviceIdentifier} gone`),
      () => `the end in: ${said}`,
    )
  } finally {
    child.kill()
    rmSync(program)
  }
})
