import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { projectRoot } from '#bench/project-root'
import { configurationWith, exposedPort } from '#test/ops/image'
import { folderOfTest } from '#test/temporary-folder'

/** Checks of the compose files without a container engine. */

const folder = join(projectRoot, 'ops')
/** The server alone, each proxy in addition, and a cluster. */
const variants = [
  { files: ['compose.yaml'], localPorts: [8080], proxyPorts: [] },
  {
    files: ['compose.yaml', 'compose.caddy.yaml'],
    localPorts: [8080],
    proxyPorts: ['443:443', '443:443/udp', '80:80'],
  },
  { files: ['compose.yaml', 'compose.nginx.yaml'], localPorts: [8080], proxyPorts: ['443:443', '80:80'] },
  { files: ['compose.cluster.yaml'], localPorts: [8081, 8082, 8083], proxyPorts: [] },
]

/** The part of the compose specification that the files use. */
const Service = z.strictObject({
  build: z.string().optional(),
  image: z.string().optional(),
  restart: z.literal('unless-stopped').optional(),
  user: z.string().optional(),
  entrypoint: z.array(z.string()).optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  environment: z.record(z.string(), z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  cap_add: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  ulimits: z.strictObject({ nofile: z.int() }).optional(),
  logging: z.strictObject({ driver: z.string(), options: z.record(z.string(), z.string()) }).optional(),
  depends_on: z
    .record(z.string(), z.strictObject({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }))
    .optional(),
  ports: z.array(z.string()).optional(),
  tmpfs: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  network_mode: z.string().optional(),
})
const Compose = z.strictObject({
  name: z.string().optional(),
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()).optional(),
})

function composeOf(file: string): z.infer<typeof Compose> {
  const entries = Object.entries(parse(readFileSync(join(folder, file), 'utf8'), { merge: true }))
  // Compose ignores extensions, which only anchors are for.
  return Compose.parse(Object.fromEntries(entries.filter(([name]) => !name.startsWith('x-'))))
}

/** The files as compose merges them. Of the server only the environment and the ports are in several files. */
function mergedOf([file = '', more]: readonly string[]): z.infer<typeof Compose> {
  const base = composeOf(file)
  if (more === undefined) return base
  const added = composeOf(more)
  const [one, other] = [base.services.server, added.services.server]
  const server = {
    ...one,
    ...other,
    environment: { ...one?.environment, ...other?.environment },
    ports: [...(one?.ports ?? []), ...(other?.ports ?? [])],
  }
  return {
    services: { ...base.services, ...added.services, server },
    volumes: { ...base.volumes, ...added.volumes },
  }
}

describe.each(variants)('$files', ({ files, localPorts, proxyPorts }) => {
  const { services, volumes: named = {} } = mergedOf(files)

  test('names existing files and volumes', () => {
    for (const { volumes = [], build } of Object.values(services)) {
      for (const volume of volumes) {
        // A variable may have a default or an error message.
        const [source = ''] = volume.replace(/\$\{[^}]*\}/g, '$').split(':')
        if (source.startsWith('.')) expect(existsSync(resolve(folder, source)), volume).toBe(true)
        else if (!source.startsWith('$')) expect(Object.keys(named)).toContain(source)
      }
      if (build !== undefined) expect(existsSync(join(folder, build, 'Dockerfile'))).toBe(true)
    }
  })

  test('publishes servers to this machine only, and otherwise only the ports of the proxy', () => {
    const published = Object.values(services).flatMap(({ ports = [] }) => ports)
    expect(published.sort()).toEqual(
      [...localPorts.map((port) => `127.0.0.1:${port}:${exposedPort}`), ...proxyPorts].sort(),
    )
  })

  test('services depend on existing services', () => {
    for (const { depends_on = {}, network_mode } of Object.values(services)) {
      for (const name of Object.keys(depends_on)) expect(services[name]).toBeDefined()
      const [, shared] = network_mode?.split('service:') ?? []
      if (shared !== undefined) expect(services[shared]).toBeDefined()
    }
  })

  test.skipIf(!services.server)('the server accepts its settings, and trusts the proxy if there is one', () => {
    const config = configurationWith(valuesIn(services.server?.environment, { DOMAIN: 'devices.example.com' }))
    expect(config.port).toBe(exposedPort)
    expect(config.isProxyTrusted).toBe(proxyPorts.length > 0)
    expect(config.publicUrls).toEqual(proxyPorts.length > 0 ? ['https://devices.example.com'] : [])
  })
})

/** An environment as compose sets it: `${NAME}` and `${NAME:?message}` are replaced. */
function valuesIn(environment: Readonly<Record<string, string>> = {}, given: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+)(?::[^}]*)?\}/g, (_, variable: string) => given[variable] ?? ''),
    ]),
  )
}

describe('a cluster', () => {
  const { services } = composeOf('compose.cluster.yaml')
  const numbers = [1, 2, 3]
  const given = { NATS_PASSWORD: '1e5', NATS_SYSTEM_PASSWORD: 'secret' }

  test.each(numbers)('node %i accepts its settings, and writes only to its volume', (number) => {
    const node = services[`node-${number}`]
    expect(configurationWith(valuesIn(node?.environment, given))).toMatchObject({
      nodeName: `node-${number}`,
      nodeUrl: `http://node-${number}:${exposedPort}`,
      natsUrls: ['nats://devices:1e5@nats-1:4222', 'nats://nats-2:4222', 'nats://nats-3:4222'],
      durability: 'disk',
      natsSystemCredentials: '/credentials/system',
    })
    expect(node).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    expect(node?.volumes).toEqual([`data-${number}:/data`, 'credentials:/credentials:ro'])
    expect(Number.parseInt(node?.stop_grace_period ?? '', 10)).toBeGreaterThanOrEqual(20)
  })

  test.each(numbers)('NATS server %i has its name and data, and the others as routes', (number) => {
    const { environment, volumes } = services[`nats-${number}`] ?? {}
    expect(valuesIn(environment, given)).toEqual({
      NATS_NAME: `nats-${number}`,
      NATS_PASSWORD: '"1e5"',
      NATS_SYSTEM_PASSWORD: '"secret"',
    })
    expect(volumes).toContain(`nats-${number}:/data`)
    expect(readFileSync(join(folder, 'nats/nats.conf'), 'utf8')).toContain(`nats://nats-${number}:6222`)
  })

  test('all nodes get one key, which a second start keeps', () => {
    const root = folderOfTest()
    for (const name of ['data-1', 'data-2', 'data-3', 'credentials']) mkdirSync(join(root, name))
    const { entrypoint = [], command = [] } = services.prepare ?? {}
    const owned: string[][] = []
    const prepare = () => {
      const script = command
        .join('\n')
        .replaceAll('$$', '$')
        .replaceAll(/(?<=[\s=])\/(?=data-|credentials)/g, `${root}/`)
      const shell = `chown() { echo "$@"; }\n${script}`
      const run = spawnSync('sh', [...entrypoint.slice(1), shell], {
        encoding: 'utf8',
        env: { ...process.env, ...given },
      })
      expect([run.status, run.stderr]).toEqual([0, ''])
      owned.push(run.stdout.trim().split(/\s+/))
      return numbers.map((number) => readFileSync(join(root, `data-${number}`, 'identity.key'), 'utf8'))
    }
    const [first, ...others] = prepare()
    expect(Buffer.from(first ?? '', 'base64url')).toHaveLength(32)
    expect(others).toEqual([first, first])
    expect(prepare()).toEqual([first, first, first])
    expect(readFileSync(join(root, 'credentials/system'), 'utf8')).toBe('system:secret\n')
    expect(statSync(join(root, 'data-2/identity.key')).mode & 0o777).toBe(0o600)
    for (const name of ['data-1', 'data-2', 'data-3', 'credentials', 'data-3/identity.key', 'credentials/system'])
      expect(owned[0]).toContain(join(root, name))
  })
})

test('the server writes only to its volume, has no capabilities, and has time to stop', () => {
  const { server } = composeOf('compose.yaml').services
  expect(server).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  expect(server?.volumes).toEqual(['data:/data'])
  expect(Number.parseInt(server?.stop_grace_period ?? '', 10)).toBeGreaterThanOrEqual(20)
})

test('nginx gets the tested configuration with the given domain', () => {
  const command = composeOf('compose.nginx.yaml').services.nginx?.command?.at(-1) ?? ''
  // Compose replaces $$ with $.
  const line = command.replaceAll('$$', '$').replace(/ && exec nginx.*$/, '')
  const redirected = line.replace(
    '/etc/nginx/device-data-backend.conf',
    join(projectRoot, 'ops/nginx/device-data-backend.conf'),
  )
  const { stdout, status } = spawnSync('sh', ['-c', redirected.replace(/ > \S+$/, '')], {
    encoding: 'utf8',
    env: { ...process.env, DOMAIN: 'my.example' },
  })
  expect(status).toBe(0)
  expect(stdout).toContain('server_name my.example;')
  expect(stdout).not.toContain('devices.example.com')
})

const noCaddy = spawnSync('caddy', ['version']).error
  ? 'Skipped, the Caddyfile was not checked: caddy is not installed (apt-get install caddy)'
  : undefined

test('Caddy accepts its configuration', (context) => {
  if (noCaddy !== undefined && !process.env.CI) return context.skip(noCaddy)
  const caddyfile = join(folder, 'caddy/Caddyfile')
  const options = { encoding: 'utf8' as const, env: { ...process.env, DOMAIN: 'my.example' } }
  const { status, stderr } = spawnSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', caddyfile], options)
  expect([status, stderr]).toEqual([0, expect.any(String)])
  const adapted = spawnSync('caddy', ['adapt', '--adapter', 'caddyfile', '--config', caddyfile], options)
  expect(adapted.stdout).toContain('"host":["my.example"]')
  expect(adapted.stdout).toContain(`"dial":"server:${exposedPort}"`)
  // Caddy warns about a file that is not formatted.
  expect(adapted.stderr).not.toContain('not formatted')
})
