import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { projectRoot } from '#bench/project-root'
import { configurationWith, exposedPort } from '#test/ops/image'

/** Checks of the compose files without a container engine. */

const folder = join(projectRoot, 'ops')
/** The server alone, and each proxy in addition. */
const variants = [
  { files: ['compose.yaml'], proxyPorts: [] },
  { files: ['compose.yaml', 'compose.caddy.yaml'], proxyPorts: ['443:443', '443:443/udp', '80:80'] },
  { files: ['compose.yaml', 'compose.nginx.yaml'], proxyPorts: ['443:443', '80:80'] },
]

/** The part of the compose specification that the files use. */
const Service = z.strictObject({
  build: z.string().optional(),
  image: z.string().optional(),
  restart: z.literal('unless-stopped').optional(),
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
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).optional(),
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

const composeOf = (file: string) => Compose.parse(parse(readFileSync(join(folder, file), 'utf8')))

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

describe.each(variants)('$files', ({ files, proxyPorts }) => {
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

  test('publishes the server to this machine only, and otherwise only the ports of the proxy', () => {
    const published = Object.values(services).flatMap(({ ports = [] }) => ports)
    expect(published.sort()).toEqual([`127.0.0.1:${exposedPort}:${exposedPort}`, ...proxyPorts].sort())
  })

  test('services depend on existing services', () => {
    for (const { depends_on = {}, network_mode } of Object.values(services)) {
      for (const name of Object.keys(depends_on)) expect(services[name]).toBeDefined()
      if (network_mode) expect(services[network_mode.replace('service:', '')]).toBeDefined()
    }
  })

  test('the server accepts its settings, and trusts the proxy if there is one', () => {
    const given = Object.entries(services.server?.environment ?? {})
    const environment = Object.fromEntries(
      given.map(([name, value]) => [name, value.replace(/\$\{DOMAIN:[^}]*\}/, 'devices.example.com')]),
    )
    const config = configurationWith(environment)
    expect(config.port).toBe(exposedPort)
    expect(config.isProxyTrusted).toBe(proxyPorts.length > 0)
    expect(config.publicUrls).toEqual(proxyPorts.length > 0 ? ['https://devices.example.com'] : [])
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
