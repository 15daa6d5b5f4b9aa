import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tableOf } from '#cli/printer'
import { readSettings } from '#cli/settings'
import { administerAt } from '#test/cli/administer-at'
import { folderOfSuite } from '#test/temporary-folder'

/** Runs a command line. It reaches no server, because none listens on this port, and IAM is off. */
function run(line: string) {
  return administerAt({ PORT: '0', IAM: 'off' }, line === '' ? [] : line.split(' '))
}

const folder = folderOfSuite()

const verbs = {
  user: ['list', 'add', 'invite', 'set', 'disable', 'enable', 'delete'],
  role: ['list', 'show', 'put', 'delete'],
  key: ['list', 'add', 'delete', 'rotate-signing'],
  session: ['list', 'end'],
  tenant: ['list', 'add', 'set', 'delete'],
  cluster: ['status', 'hand-over'],
  history: ['status', 'export', 'import', 'compact'],
}

describe('help', () => {
  test('names the subjects, settings and exit codes', async () => {
    for (const line of ['--help', 'help']) {
      const { code, out, notes } = await run(line)
      expect([code, notes]).toEqual([0, ''])
      for (const word of [
        ...Object.keys(verbs),
        'audit',
        '--url',
        '--json',
        'ADMIN_PASSWORD',
        'ADMIN_API_KEY',
        'Exit codes',
      ]) {
        expect(out).toContain(word)
      }
      expect(Math.max(...out.split('\n').map((row) => row.length))).toBeLessThanOrEqual(120)
    }
  })

  test.each(Object.entries(verbs))('of %s names its verbs', async (subject, names) => {
    const { code, out } = await run(`${subject} --help`)
    expect(code).toBe(0)
    for (const name of names) expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'))
    expect((await run(`help ${subject}`)).out).toBe(out)
  })

  test.each(Object.entries(verbs).flatMap(([subject, names]) => names.map((name) => `${subject} ${name}`)))(
    'of %s has its usage and the common options',
    async (line) => {
      const { code, out } = await run(`${line} --help`)
      expect([code, out]).toEqual([0, expect.stringContaining(`Usage: npm run admin -- ${line}`)])
      expect(out).toContain('--url <url>')
      expect(out.includes('--tenant <tenant>')).toBe(!/^(tenant|cluster|history)/.test(line))
    },
  )
})

describe('a command line with an error has exit code 2 and a message', () => {
  writeFileSync(join(folder, 'broken.json'), '{"grants":')
  test.each([
    ['', 'Usage:'],
    ['user', 'Usage:'],
    ['key add', 'Usage:'],
    ['users list', "unknown command 'users'"],
    ['user lst', "unknown command 'lst'"],
    ['user add', "missing required argument 'name'"],
    ['user add ann bob', 'too many arguments'],
    ['user add ann --rolle viewer', "unknown option '--rolle'"],
    ['user add ann --expires week', 'Use a whole number.'],
    ['user add ann --role', 'argument missing'],
    ['role put ops', "required option '--file <file>'"],
    [`role put ops --file ${folder}/missing.json`, 'ENOENT'],
    [`role put ops --file ${folder}/broken.json`, 'JSON'],
    ['key add api reporting', "required option '--role <role>'"],
    ['key add other reporting', "unknown command 'other'"],
    ['key list others', "'others' is invalid"],
    ['tenant add acme', "required option '--name <name>'"],
    ['tenant set acme --two-factor maybe', "'maybe' is invalid"],
    ['tenant list --tenant other', "unknown option '--tenant'"],
    ['history export --device D', "required option '--service <id>'"],
    ['session end', "missing required argument 'name'"],
  ])('%s', async (line, message) => {
    const { code, out, notes } = await run(line)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(notes).toContain(message)
  })
})

test.each([
  'user list',
  '--json user list',
  'user --tenant other list',
  'user list --tenant other --json',
  'user set ann --no-role --role viewer --email a@b.example --no-email',
  'user add --role viewer ann',
  'key add --tenant other api reporting --role viewer --expires 60',
  'tenant set acme --no-host --host a.example --basic',
  'session end ann 3Nc7xJr4Vq',
])('a valid command line is read: %s', async (line) => {
  const { code, out, notes } = await run(line)
  expect({ code, out, notes }).toEqual({ code: 1, out: '', notes: expect.stringContaining('IAM is off') })
})

test.each<[string, Record<string, string>, string, object]>([
  ['the environment', { ADMIN_NAME: 'ann', ADMIN_API_KEY: 'k' }, '', { name: 'ann', apiKey: 'k' }],
  ['.env', {}, 'ADMIN_NAME=ann\nADMIN_PASSWORD=correct horse', { name: 'ann', password: 'correct horse' }],
  ['both: the environment wins', { ADMIN_NAME: 'ann' }, 'ADMIN_NAME=bob', { name: 'ann', password: undefined }],
  ['an empty value, which counts as unset', { ADMIN_NAME: '' }, 'ADMIN_NAME=bob', { name: undefined }],
])('credentials are read from %s', (_, environment, dotenv, expected) => {
  const { reading, ...settings } = readSettings(environment, dotenv)
  expect(settings).toMatchObject(expected)
  // Credentials must not become settings of the server, because it would create this administrator.
  expect(reading).toMatchObject({ config: { adminName: undefined, adminPassword: undefined } })
})

test('a table has no control characters', () => {
  const columns = [
    ['NAME', 'name'],
    ['AGENT', 'agent'],
    ['IN', 'isIn'],
    ['SEEN', 'seenAt'],
  ] as const
  const rows = [
    { name: 'ann', agent: 'a\u001b[2Jb\nc\u009bd\u202e', isIn: true, seenAt: 1_790_000_000_123 },
    { name: 'barbara', agent: [], isIn: false },
  ]
  expect(tableOf(columns, rows)).toBe(
    [
      'NAME     AGENT        IN   SEEN',
      'ann      a?[2Jb?c?d?  yes  2026-09-21T14:13:20Z',
      'barbara  -            no   -',
      '',
    ].join('\n'),
  )
})
