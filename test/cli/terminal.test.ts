import { spawn, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { adminProgram, cleanEnvironment, environmentOf } from '#test/cli/admin-process'

/** `script` of util-linux runs a command in a terminal. */
const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0

describe.skipIf(!hasTerminal)('at a terminal', () => {
  let server: StartedServer
  beforeAll(async () => {
    server = await startWithIdentity()
  })
  afterAll(() => server?.finish())

  /** Types `keys` at the password prompt. Returns everything that the terminal showed. */
  async function typePassword(keys: string): Promise<{ code: number | null; shown: string }> {
    const line = `'${process.execPath}' '${adminProgram}' user list --user ${root.name}`
    const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
      cwd: tmpdir(),
      stdio: 'pipe',
      env: { ...cleanEnvironment(), ...environmentOf(server) },
      timeout: 25_000,
      killSignal: 'SIGKILL',
    })
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    await until(
      () => shown.includes('Password of '),
      () => `the prompt\n${shown}`,
    )
    child.stdin.write(keys)
    const code = await ended
    return { code, shown }
  }

  test('the command asks for a password, and does not show it', async () => {
    const { code, shown } = await typePassword(`${root.password}x\u007f\r`)
    expect({ code, shown }).toEqual({ code: 0, shown: expect.stringMatching(/\nroot +active/) })
    expect(shown).toContain(`Password of root at http://127.0.0.1:${server.port}/api/v1: `)
    expect(shown).not.toContain(root.password.slice(0, 3))
  })

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('%s cancels the prompt', async (_, keys) => {
    const { code, shown } = await typePassword(keys)
    expect({ code, shown }).toEqual({ code: 2, shown: expect.stringContaining('no password was given') })
  })
})
