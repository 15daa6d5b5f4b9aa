import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { projectRoot } from '#bench/project-root'

/** Checks of the compose files without a container engine. */

const folder = join(projectRoot, 'ops/compose')
const files = ['compose.yaml', 'compose.nginx.yaml'] as const

/** The part of the compose specification that the files use. */
const Service = z.strictObject({
  build: z.string().optional(),
  image: z.string().optional(),
  extends: z.strictObject({ file: z.string(), service: z.string() }).optional(),
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
  name: z.string(),
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
})

const composeOf = (file: string) => Compose.parse(parse(readFileSync(join(folder, file), 'utf8'), { merge: true }))

describe.each(files)('%s', (file) => {
  const compose = composeOf(file)

  test('names existing files and volumes', () => {
    for (const { volumes = [], build, extends: base } of Object.values(compose.services)) {
      for (const volume of volumes) {
        // A variable may have a default or an error message.
        const [source = ''] = volume.replace(/\$\{[^}]*\}/g, '$').split(':')
        if (source.startsWith('.')) expect(existsSync(resolve(folder, source)), volume).toBe(true)
        else if (!source.startsWith('$')) expect(Object.keys(compose.volumes)).toContain(source)
      }
      if (build !== undefined) expect(existsSync(join(folder, build, 'Dockerfile'))).toBe(true)
      if (base) expect(composeOf(base.file).services[base.service]).toBeDefined()
    }
  })

  test('publishes only the ports of the proxy', () => {
    const published = Object.entries(compose.services).flatMap(([, { ports = [] }]) => ports)
    expect(published.map((port) => port.split(':')[0]).sort()).toEqual(
      file === 'compose.yaml' ? ['443', '443', '80'] : ['443', '80'],
    )
  })

  test('services depend on existing services', () => {
    for (const { depends_on = {}, network_mode } of Object.values(compose.services)) {
      for (const name of Object.keys(depends_on)) expect(compose.services[name]).toBeDefined()
      if (network_mode) expect(compose.services[network_mode.replace('service:', '')]).toBeDefined()
    }
  })
})

test('the server writes only to its volume, has no capabilities, and has time to stop', () => {
  const { server } = composeOf('compose.yaml').services
  expect(server).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  expect(server?.volumes).toEqual(['data:/data'])
  expect(Number.parseInt(server?.stop_grace_period ?? '', 10)).toBeGreaterThanOrEqual(20)
  expect(server?.environment).toMatchObject({ TRUST_PROXY: 'on' })
  expect(server?.ports).toBeUndefined()
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
  const caddyfile = join(folder, 'Caddyfile')
  const options = { encoding: 'utf8' as const, env: { ...process.env, DOMAIN: 'my.example' } }
  const { status, stderr } = spawnSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', caddyfile], options)
  expect([status, stderr]).toEqual([0, expect.any(String)])
  const adapted = spawnSync('caddy', ['adapt', '--adapter', 'caddyfile', '--config', caddyfile], options)
  expect(adapted.stdout).toContain('"host":["my.example"]')
  expect(adapted.stdout).toContain('"dial":"server:8080"')
  // Caddy warns about a file that is not formatted.
  expect(adapted.stderr).not.toContain('not formatted')
})
