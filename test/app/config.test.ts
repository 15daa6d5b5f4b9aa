import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readConfig } from '#app/config'
import { type Setting, settings } from '#app/config-settings'
import { helpText, markdownTable, placeTable } from '#app/config-text'
import { configOf } from '#test/app/valid-config'

const all: readonly Setting[] = Object.values(settings)

test.each([
  ['PORT', '0', 'port', 0],
  ['PORT', '65535', 'port', 65535],
  ['PORT', ' 80 ', 'port', 80],
  ['HOST', '::1', 'host', '::1'],
  ['HOST', 'localhost', 'host', 'localhost'],
  ['DATA_DIR', '/var/lib/some folder', 'dataDirectory', '/var/lib/some folder'],
  ['STORAGE_HEADROOM_MB', '0', 'storageHeadroomBytes', 0],
  ['STREAM_RETENTION_MB', '2', 'streamRetentionBytes', 2 * 1024 * 1024],
  ['STREAM_RETENTION_HOURS', '1', 'streamRetentionMs', 3_600_000],
  ['DURABILITY', 'disk', 'durability', 'disk'],
  ['TRUST_PROXY', '1', 'isProxyTrusted', true],
  ['TRUST_PROXY', 'TRUE', 'isProxyTrusted', true],
  ['RATE_LIMITS', 'off', 'areRateLimitsOn', false],
  ['RATE_LIMITS', '0', 'areRateLimitsOn', false],
  ['IAM', 'false', 'isIamOn', false],
  ['IAM', 'on', 'isIamOn', true],
  ['IAM', '1', 'isIamOn', true],
  ['PUBLIC_URL', 'https://a.example', 'publicUrls', ['https://a.example']],
  ['PUBLIC_URL', 'https://A.example:443/x/, http://b', 'publicUrls', ['https://a.example/x', 'http://b']],
  ['CORS_ORIGINS', 'https://a.example,http://[::1]:5173', 'corsOrigins', ['https://a.example', 'http://[::1]:5173']],
  ['TICKET_LIFETIME_S', '1', 'ticketLifetimeMs', 1000],
  ['BODY_BYTES_MAX', '2048', 'bodyBytesMax', 2048],
  ['UPDATE_SERVER_URL', 'https://u.example/api/', 'updateServerUrl', 'https://u.example/api'],
  ['UPDATE_SERVER_TOKEN', 'a.b-c', 'updateServerToken', 'a.b-c'],
  ['AUTO_UPDATE', '*/5 0-6 * * MON', 'autoUpdate', '*/5 0-6 * * MON'],
  ['AUTO_UPDATE', '0 30 3 * * *', 'autoUpdate', '0 30 3 * * *'],
  ['AUTO_UPDATE', '0  0 29 2 *', 'autoUpdate', '0  0 29 2 *'],
  ['SMTP_URL', 'smtps://user:pa%40ss@mail.example:465', 'smtpUrl', 'smtps://user:pa%40ss@mail.example:465'],
  ['MAIL_FROM', 'Devices <d@a.example>', 'mailFrom', 'Devices <d@a.example>'],
  ['WEBHOOK_ALLOW', 'hooks.local, 10.0.0.0/8', 'webhookAllow', ['hooks.local', '10.0.0.0/8']],
  ['MQTT_PORT', '0', 'mqttPort', 0],
  ['MQTT_PORT', 'OFF', 'mqttPort', 'off'],
  ['MQTT_TLS_PORT', '8884', 'mqttTlsPort', 8884],
  ['MQTT_FREE_TOPICS', 'on', 'hasMqttFreeTopics', true],
  ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ['AUDIT_LOG', 'on', 'isAuditLogged', true],
])('a good value is read: %s=%s', (name, text, key, value) => {
  expect(configOf({ [name]: text })).toHaveProperty(key, value)
})

describe('a bad value is reported in one line with the name, the value and the valid values', () => {
  test.each([
    ['PORT', ['65536', '-1', '1.5', 'http', '0x50', '1e3', '９']],
    ['HOST', ['a b', 'http://a', '0.0.0.0/0', 'a'.repeat(254)]],
    ['STORAGE_HEADROOM_MB', ['-1', '1000000']],
    ['DURABILITY', ['fsync', 'none']],
    ['WEBHOOK_ALLOW', ['10.0.0.0/33', 'https://a.example', 'a,,b']],
    ['STREAM_RETENTION_MB', ['0', '64MB', '9'.repeat(400)]],
    ['STREAM_RETENTION_HOURS', ['0', '8761']],
    ['IAM', ['maybe', '2', 'none']],
    ['ADMIN_NAME', ['a:b', 'a/b', 'a\nb', 'a\u2028b', 'a\u200bb', ' a', 'a ', 'a'.repeat(65), 'Anonymous']],
    ['ADMIN_PASSWORD', ['short', 'a'.repeat(257)]],
    ['PUBLIC_URL', ['a.example', 'ftp://a', 'http://a?b', 'http://a#', 'http://u:p@a', 'http://a,', 'http://a b']],
    ['TRUST_PROXY', ['yes', '2', '10.0.0.1']],
    ['CORS_ORIGINS', ['*', 'null', 'https://a/', 'https://a/x', 'https://a:443', 'HTTPS://a', 'a.example', 'file://']],
    ['RATE_LIMITS', ['none']],
    ['TOKEN_LIFETIME_S', ['0', '1h']],
    ['ACCESS_TOKEN_LIFETIME_S', ['0']],
    ['REFRESH_TOKEN_LIFETIME_S', ['0', '31536001']],
    ['TICKET_LIFETIME_S', ['0', '301']],
    ['BODY_BYTES_MAX', ['10', '1MiB']],
    ['LINK_FRAME_BYTES_MAX', ['1', '99999999']],
    ['MQTT_PORT', ['65536', 'on', '1883/tcp']],
    ['MQTT_TLS_PORT', ['off', '-1']],
    ['IMAGE_BYTES_MAX', ['1', '99999999999']],
    ['WRITE_TIMEOUT_S', ['0', '301']],
    ['UPDATE_OFFER_TIMEOUT_S', ['0', '301']],
    ['UPDATE_SERVER_URL', ['updates', 'https://a?x', 'ftp://a']],
    ['UPDATE_SERVER_TOKEN', ['a b', 'a\nb', 'ä']],
    ['UPDATE_HOOK_SECRET', ['a b']],
    ['AUTO_UPDATE', ['daily', '* * * *', '* * * * * * *', '@daily', '0 3 * * *; rm']],
    ['AUTO_UPDATE', ['0 0 30 2 *', '0 0 0 31 4,6 *', '61 * * * *', 'a b c d e']],
    ['DISABLE_CONNECT_UPDATE', ['never']],
    ['HOOK_PINS_ONLY', ['never']],
    ['SMTP_URL', ['mail.example', 'http://mail.example', 'smtp:', 'smtp://', 'smtp://me:hunter2@']],
    [
      'SMTP_URL',
      ['smtp://a?secure=false', 'smtp://a#b', 'smtp://a/b', 'smtp://me@a', 'smtp://:hunter2@a', 'smtp://me:%zz@a'],
    ],
    ['MAIL_FROM', ['"a"@b', 'a@[127.0.0.1]', 'A <"a"@b>', 'a@b,c@d', 'no-at', 'a@b\nBcc: c@d', '<a@b>', 'A <a@b> c']],
    ['MAILS_PER_HOUR_MAX', ['0']],
    ['METRICS_TOKEN', ['a b']],
    ['LOG_LEVEL', ['loud', 'warning']],
  ])('%s', (name, texts) => {
    const { kind, isSecret } = settingOf(name)
    for (const text of texts) {
      const line = mistakesOf({ [name]: text }).find((mistake) => mistake.startsWith(`${name}: got `))
      expect(line, JSON.stringify(text)).toBeDefined()
      expect(line).toContain(`takes ${kind.takes}`)
      expect(line).not.toContain('\n')
      if (isSecret) expect(line).toBe(`${name}: got a value that is not shown, takes ${kind.takes}`)
    }
  })

  test('no setting accepts a NUL character', () => {
    expect(all.filter((setting) => setting.kind.read('\0') !== undefined)).toEqual([])
  })

  test('all mistakes are reported together, and long values are cut', () => {
    const mistakes = mistakesOf({ PORT: 'x'.repeat(5000), HOST: '/', LOG_LEVEL: '?' })
    expect(mistakes.map((mistake) => mistake.split(':')[0])).toEqual(['PORT', 'HOST', 'LOG_LEVEL'])
    expect(mistakes.every((mistake) => mistake.length < 300)).toBe(true)
  })
})

describe('settings without values', () => {
  test('have valid defaults', () => {
    expect(readConfig({})).toMatchObject({ warnings: [] })
    for (const { name, kind, fallback } of all) {
      if (fallback !== undefined) expect(kind.read(fallback), name).toBeDefined()
    }
  })

  test('are those that are unset or empty', () => {
    const empty = Object.fromEntries(all.map(({ name }) => [name, '']))
    expect(configOf(empty)).toEqual(configOf({}))
  })
})

describe('the file .env', () => {
  const dotenv = '# comment\nPORT=1000\nexport LOG_LEVEL="debug"\nHOST=127.0.0.2 # here\n'

  test('is used if the environment does not set a name', () => {
    expect(configOf({}, dotenv)).toMatchObject({ port: 1000, logLevel: 'debug', host: '127.0.0.2' })
  })

  test('is overridden by the environment, also by an empty value', () => {
    expect(configOf({ PORT: '2000', LOG_LEVEL: '' }, dotenv)).toMatchObject({ port: 2000, logLevel: 'info' })
  })

  test.each([
    ['PROT', 'PORT'],
    ['port', 'PORT'],
    ['DATADIR', 'DATA_DIR'],
    ['STREAM_RETENTION_MBS', 'STREAM_RETENTION_MB'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['ADMIN_PASWORD', 'ADMIN_PASSWORD'],
  ])('causes a warning if it has %s, which may mean %s', (name, meant) => {
    const reading = readConfig({}, `${name}=hunter2`)
    expect(reading).toMatchObject({ warnings: [`.env: ${name} is not a setting; did you mean ${meant}?`] })
  })

  test('may have variables of other programs without a warning', () => {
    expect(readConfig({}, 'COMPOSE_PROJECT_NAME=a\nTZ=UTC\nNODE_ENV=production')).toMatchObject({ warnings: [] })
  })
})

describe('settings that depend on each other', () => {
  test.each([
    [{ ADMIN_NAME: 'root' }, 'ADMIN_PASSWORD'],
    [{ ADMIN_PASSWORD: 'long enough' }, 'ADMIN_NAME'],
  ])('%j is a mistake without %s', (environment, missing) => {
    expect(mistakesOf(environment)).toEqual([expect.stringMatching(`^${missing}: got nothing`)])
  })

  test('an administrator with a bad password is reported as one mistake', () => {
    expect(mistakesOf({ ADMIN_NAME: 'root', ADMIN_PASSWORD: 'short' })).toHaveLength(1)
    for (const name of ['root', 'Ann of the East', 'Änn']) {
      expect(configOf({ ADMIN_NAME: name, ADMIN_PASSWORD: 'long enough' })).toMatchObject({ adminName: name })
    }
  })

  test.each(['0.0.0.0', '::', '192.168.0.1', 'devices.example.com'])('HOST=%s without IAM causes a warning', (host) => {
    const warnings = [expect.stringContaining('ANYONE')]
    expect(readConfig({ IAM: 'off', HOST: host })).toMatchObject({ warnings })
    expect(readConfig({ HOST: host })).toMatchObject({ warnings: [] })
  })

  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('HOST=%s without IAM causes no warning', (host) => {
    expect(readConfig({ IAM: 'off', HOST: host })).toMatchObject({ warnings: [] })
  })

  test('updates that never start automatically cause a warning', () => {
    expect(readConfig({ DISABLE_CONNECT_UPDATE: '1' })).toMatchObject({ warnings: [expect.any(String)] })
    expect(readConfig({ DISABLE_CONNECT_UPDATE: '1', AUTO_UPDATE: '0 3 * * *' })).toMatchObject({ warnings: [] })
  })
})

describe('documentation of settings', () => {
  test('--help names every setting in at most 100 columns', () => {
    const lines = helpText().split('\n')
    expect(lines.filter((line) => line.length > 100)).toEqual([])
    for (const { name } of all) expect(lines.filter((line) => line.startsWith(`${name} `))).toHaveLength(1)
  })

  test('the operator guide is up to date; `npm run build -- --settings` updates it', () => {
    const guide = readFileSync(new URL('../../docs/operator-guide.md', import.meta.url), 'utf8')
    expect(placeTable(guide)).toBe(guide)
  })

  test('every line of the table has four columns', () => {
    for (const line of markdownTable().split('\n')) expect(line.replaceAll('\\|', '').split('|')).toHaveLength(6)
  })
})

function settingOf(name: string): Setting {
  const setting = all.find((candidate) => candidate.name === name)
  if (!setting) throw new Error(`no setting ${name}`)
  return setting
}

function mistakesOf(environment: Record<string, string>): readonly string[] {
  const reading = readConfig(environment)
  return 'mistakes' in reading ? reading.mistakes : []
}
