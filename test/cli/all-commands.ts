import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type AdminResult, errorOf, outputOf } from '#test/cli/admin-process'
import { folderOfTest } from '#test/temporary-folder'

type RunCommand = (args: readonly string[], input?: string) => Promise<AdminResult>

/** A printed code of 128 bits. */
const code = /^[1-9A-HJ-NP-Za-km-z]{22}\n$/
const grants = [
  { permissions: { service: ['read'], meta: ['read', 'update'] }, devices: ['SENSOR-1'], services: ['*'] },
]

/** Runs all commands for tenants, roles, users, sessions, keys, imports and the audit. The server must be new. */
export async function runAllCommands(run: RunCommand): Promise<void> {
  const folder = folderOfTest()
  const file = join(folder, 'ops.json')
  writeFileSync(file, JSON.stringify({ grants }))
  const succeeds = async (args: string, input?: string) => outputOf(await run(args.split(' '), input))
  const json = async (args: string, input?: string) => JSON.parse(await succeeds(`${args} --json`, input)) as unknown
  await tenants(succeeds, json)
  await roles(succeeds, json, file)
  await users(succeeds, json)
  await sessions(run, succeeds)
  await keys(succeeds, json)
  await imports(json, folder)
  await audit(succeeds, json)
  expect(await succeeds('user delete ann')).toBe('')
  expect(await succeeds('role delete ops')).toBe('')
  expect(await succeeds('role delete ops --tenant other')).toBe('')
  expect(await succeeds('tenant delete other')).toBe('')
  expect(await json('user list')).not.toContainEqual(expect.objectContaining({ name: 'ann' }))
  expect(await json('role list')).not.toContainEqual(expect.objectContaining({ name: 'ops' }))
  expect(await json('tenant list')).toEqual([expect.objectContaining({ tenantIdentifier: 'default' })])
}

type Succeeds = (args: string, input?: string) => Promise<string>
type Json = (args: string, input?: string) => Promise<unknown>

async function tenants(succeeds: Succeeds, json: Json): Promise<void> {
  const other = { tenantIdentifier: 'other', name: 'Other', hosts: ['a.example', 'b.example'], basic: true }
  expect(await json('tenant add other --name Other --host a.example --host b.example')).toMatchObject(other)
  expect(await succeeds('tenant list')).toMatch(
    /^TENANT .*\n(.*\n)*other +Other +a\.example,b\.example +optional +yes /,
  )
  expect(await json('tenant set other --no-host')).not.toHaveProperty('hosts.0')
  expect(await succeeds('tenant set other --two-factor required --no-basic')).toBe('')
  expect(await json('tenant list')).toContainEqual(
    expect.objectContaining({ tenantIdentifier: 'other', name: 'Other', twoFactor: 'required', basic: false }),
  )
  expect(await json('tenant set other --name Renamed --basic')).toMatchObject({ name: 'Renamed', basic: true })
}

async function audit(succeeds: Succeeds, json: Json): Promise<void> {
  const rows = (await json('audit --from -1h --limit 1000')) as { readonly name: string; readonly status: number }[]
  const refused = rows.find(({ status }) => status === 409)
  expect(refused).toMatchObject({ method: 'POST', path: '/api/v1/devices/TB-2/token' })
  const by = `--by ${refused?.name}`
  expect(await json(`audit ${by} --to -1h`)).toEqual([])
  expect(await succeeds(`audit ${by} --limit 2`)).toMatch(
    /^TIME +NAME +ADDRESS +METHOD +PATH +STATUS\n\d{4}-\S+Z +(\w+) +127\.0\.0\.1 .*\n.* \1 .*\n$/,
  )
}

async function imports(json: Json, folder: string): Promise<void> {
  const file = join(folder, 'devices.csv')
  const rows = [
    'name,token',
    'TB-1,A1_TEST_TOKEN_01',
    'TB-2,A1_TEST_TOKEN_01',
    'pump no 4,A1_TEST_TOKEN_03',
    'TB-4,short',
  ]
  writeFileSync(file, rows.join('\n'))
  const lines = [3, 4, 5].map((line) => ({ line, message: expect.any(String) }))
  const total = { created: 2, existing: 0, rejected: 3, details: lines }
  expect(await json(`import thingsboard ${file}`)).toEqual(total)
  expect(await json(`import thingsboard ${file}`)).toEqual({ ...total, created: 0, existing: 2 })
}

async function roles(succeeds: Succeeds, json: Json, file: string): Promise<void> {
  expect(await json(`role put ops --file ${file}`)).toMatchObject({ name: 'ops', grants, builtIn: false })
  const shown = await succeeds('role show ops')
  expect(JSON.parse(shown)).toEqual({ grants })
  // `put` accepts the output of `show`.
  expect(await succeeds('role put ops --file - --tenant other', shown)).toBe('')
  expect(await json('role show ops --tenant other')).toMatchObject({ resourceIdentifier: 'crn#role:other/ops', grants })
  expect(await succeeds('role list')).toMatch(/^NAME +GRANTS +BUILT IN\n(.*\n)*ops +1 +no\n/)
}

async function users(succeeds: Succeeds, json: Json): Promise<void> {
  const first = await succeeds('user add ann --email ann@a.example --role ops --role viewer --expires 3600')
  expect(first).toMatch(code)
  const ann = { name: 'ann', email: 'ann@a.example', roles: ['ops', 'viewer'], state: 'invited', twoFactor: [] }
  expect(await json('user list')).toContainEqual(expect.objectContaining(ann))
  expect(await succeeds('user list')).toMatch(/\nann +invited +ops,viewer +ann@a\.example +- +\d{4}-\d\d-\d\dT/)
  const second = await succeeds('user invite ann --reset-two-factor')
  expect(second).toMatch(code)
  expect(second).not.toBe(first)
  const { email, ...changed } = (await json('user set ann --no-email --role ops')) as Record<string, unknown>
  expect([email, changed.roles]).toEqual([undefined, ['ops']])
  expect(await json('user disable ann')).toMatchObject({ state: 'disabled' })
  expect(await json('user enable ann')).toMatchObject({ state: 'invited', roles: ['ops'] })
  // Users of another tenant are not listed.
  expect(await succeeds('user add bob --tenant other')).toMatch(code)
  expect(await json('user list --tenant other')).toEqual([expect.objectContaining({ name: 'bob', roles: [] })])
  expect(await json('user list')).not.toContainEqual(expect.objectContaining({ name: 'bob' }))
}

async function sessions(run: RunCommand, succeeds: Succeeds): Promise<void> {
  expect(await succeeds('session list ann')).toBe('ID  SCHEME  CREATED  LAST USED  ADDRESS  AGENT\n')
  expect(await succeeds('session end ann')).toBe('')
  expect(errorOf(await run(['session', 'end', 'ann', '3Nc7xJr4Vq']), 1)).toContain('404')
}

async function keys(succeeds: Succeeds, json: Json): Promise<void> {
  expect(await succeeds('key add api reporting --role viewer --expires 3600')).toMatch(/^default\.\w+\.[\w-]{43}\n$/)
  const made = (await json('key add provisioning hall --max-devices 7')) as { id: string; key: string }
  expect(made.key).toMatch(new RegExp(`^${made.id}\\.[\\w-]{43}$`))
  const all = (await json('key list')) as { id: string; kind: string }[]
  expect(all).toEqual([
    expect.objectContaining({ kind: 'api', name: 'reporting', roles: ['viewer'], expiresAt: expect.any(Number) }),
    expect.objectContaining({ kind: 'provisioning', name: 'hall', maxDevices: 7, devices: 0 }),
  ])
  expect(await succeeds('key list provisioning')).toMatch(
    new RegExp(`^ID .*\\n${made.id} +provisioning +hall [^\\n]*\\n$`),
  )
  for (const { id } of all) expect(await succeeds(`key delete ${id}`)).toBe('')
  expect(await json('key list')).toEqual([])
  expect(await succeeds('key list signing')).toMatch(/^KEY +CREATED +RETIRES\n\S+ +\S+ +-\n/)
}
