import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '#app/config'
import { projectRoot } from '#bench/project-root'
import { nodeFinding, nodeRange, openFilesFinding } from '#cli/doctor/doctor'
import { lineOf } from '#cli/doctor/finding'
import { combinationFindings, settingsFindings } from '#cli/doctor/settings'
import { configOf } from '#test/app/valid-config'

describe('Node', () => {
  test('has the same minimum as package.json', () => {
    const { engines } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
      engines: { node: string }
    }
    expect(nodeRange.startsWith(engines.node.replace('>=', '^'))).toBe(true)
  })

  test.each([
    ['20.19.0', 'ok'],
    ['20.20.2', 'ok'],
    ['22.12.0', 'ok'],
    ['22.11.9', 'wrong'],
    ['21.7.3', 'wrong'],
    ['20.18.9', 'wrong'],
    ['18.20.0', 'wrong'],
    ['23.0.0', 'wrong'],
    ['24.1.0', 'wrong'],
  ])('version %s is %s', (version, verdict) => {
    const finding = nodeFinding(version)
    expect([finding.verdict, finding.todo !== undefined]).toEqual([verdict, verdict !== 'ok'])
  })
})

describe('open files', () => {
  const limits = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             100                  100                  processes \nMax open files            ${soft}                 1048576              files     \n`

  test.each([
    ['1024', 'wrong'],
    ['4096', 'hint'],
    ['19999', 'hint'],
    ['20000', 'ok'],
    ['unlimited', 'ok'],
  ])('with limit %s are %s', (soft, verdict) => {
    expect(openFilesFinding(limits(soft)).verdict).toBe(verdict)
  })

  test('are fine if the limit is unknown', () => {
    for (const text of [undefined, '', 'Max processes 100 100 processes'])
      expect(openFilesFinding(text).verdict).toBe('ok')
  })
})

describe('settings', () => {
  test('have one finding for each error', () => {
    const found = settingsFindings(readConfig({ PORT: 'http', DURABILITY: 'some' }))
    expect(found.map(({ verdict, said }) => [verdict, said.split(':')[0]])).toEqual([
      ['wrong', 'PORT'],
      ['wrong', 'DURABILITY'],
    ])
  })

  test('have one finding if they are all valid', () => {
    expect(settingsFindings(readConfig({}))).toMatchObject([{ verdict: 'ok' }])
  })

  test('have the warnings of the server', () => {
    expect(settingsFindings(readConfig({ DISABLE_CONNECT_UPDATE: 'on' }))).toMatchObject([{ verdict: 'hint' }])
  })

  test('never show a secret', () => {
    const found = settingsFindings(readConfig({ METRICS_TOKEN: 'with a space', SMTP_URL: 'http://user:hunter2@mail' }))
    expect(found).toHaveLength(2)
    expect(JSON.stringify(found)).not.toMatch(/with a space|hunter2/)
  })

  const https = 'https://devices.example.com'
  test.each<[string, Record<string, string>, readonly string[]]>([
    ['a local server', {}, []],
    ['a local server behind a proxy', { TRUST_PROXY: 'on', PUBLIC_URL: https }, []],
    ['a local server without IAM', { IAM: 'off' }, ['hint IAM']],
    ['a public server without IAM', { IAM: 'off', HOST: '0.0.0.0' }, ['wrong IAM', 'hint HOST']],
    ['a public server without TLS', { HOST: '0.0.0.0' }, ['hint HOST']],
    ['a public server behind a proxy', { HOST: '0.0.0.0', TRUST_PROXY: 'on', PUBLIC_URL: https }, ['hint TRUST_PROXY']],
    ['TLS without a trusted proxy', { PUBLIC_URL: https }, ['hint TRUST_PROXY']],
    ['a proxy without a public URL', { TRUST_PROXY: 'on' }, ['hint PUBLIC_URL']],
    ['a public URL without TLS', { TRUST_PROXY: 'on', PUBLIC_URL: 'http://devices.example.com' }, ['hint PUBLIC_URL']],
    ['a local URL without TLS', { PUBLIC_URL: 'http://localhost:8080' }, []],
    ['mail without a public URL', { SMTP_URL: 'smtp://mail.example' }, ['hint PUBLIC_URL']],
    ['a cluster on one machine', { NATS_URL: 'nats://127.0.0.1', NODE_URL: 'http://127.0.0.1:8081' }, []],
    [
      'a node that others cannot reach',
      { NATS_URL: 'nats://nats-1', NODE_URL: 'http://10.0.0.5:8080' },
      ['wrong HOST'],
    ],
    [
      'a node with a local address',
      { NATS_URL: 'nats://nats-1,nats://127.0.0.1', NODE_URL: 'http://localhost:8080' },
      ['hint NODE_URL'],
    ],
    [
      'a cluster on one NATS server',
      { NATS_URL: 'nats://localhost', NODE_URL: 'http://localhost:8080', NATS_REPLICAS: '1' },
      ['hint NATS_REPLICAS'],
    ],
  ])('are checked in combination: %s', (_, environment, expected) => {
    const found = [...combinationFindings(configOf(environment))]
    expect(found.map(({ verdict, about }) => `${verdict} ${about}`)).toEqual(expected)
    for (const { todo } of found) expect(todo).toBeTruthy()
  })
})

test('a finding is printed in one line', () => {
  expect(lineOf({ verdict: 'wrong', about: 'port', said: 'a\nb\u001b[2J', todo: 'c\td' })).toBe(
    'WRONG  port: a b [2J → c d',
  )
  expect(lineOf({ verdict: 'ok', about: 'disk', said: 'fine' })).toBe('ok     disk: fine')
})
