import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityOn } from '#bench/harness/identity'
import { listening, ownServer, type StartServer } from '#bench/harness/servers'
import type { ProtocolName } from '#bench/load/peer-protocols'
import { type InstalledServer, installedServer, isInstalled, printed } from '#bench/peers/installed-server'
import { projectRoot } from '#bench/project-root'

/** A system in the comparison: this server or another one. */
export interface Peer {
  readonly name: string
  readonly protocol: ProtocolName
  readonly isThere: boolean
  version(): string
  /** Settings that differ from the defaults. */
  readonly settings: string
  readonly start: StartServer
}

/** More connections than a load opens. */
const connectionsMax = 20_000

const mosquitto: InstalledServer = {
  command: 'mosquitto',
  line: ['-c', '{folder}/settings'],
  settings: [
    'listener {port} 127.0.0.1',
    'allow_anonymous true',
    'set_tcp_nodelay true',
    'max_queued_messages 0',
    'persistence false',
    'log_dest none',
    '',
  ].join('\n'),
}

const natsServer: InstalledServer = { command: 'nats-server', line: ['-a', '127.0.0.1', '-p', '{port}'] }

const redisServer: InstalledServer = {
  command: 'redis-server',
  line: ['{folder}/settings'],
  settings: [
    'bind 127.0.0.1',
    'port {port}',
    'dir {folder}',
    'save ""',
    'appendonly no',
    `maxclients ${connectionsMax}`,
    'client-output-buffer-limit pubsub 0 0 0',
    '',
  ].join('\n'),
}

/** The version that a command prints: the first group of the pattern. */
function versionIn(name: string, pattern: RegExp, command: string, ...line: string[]): string {
  const [, version = 'of an unknown version'] = pattern.exec(printed(command, ...line)) ?? []
  return `${name} ${version}`
}

/** An npm package, run by a small program in this folder. */
function ofNpm(name: string, protocol: ProtocolName, program: string, settings: string): Peer {
  const path = join(projectRoot, 'node_modules', name, 'package.json')
  return {
    name,
    protocol,
    isThere: existsSync(path),
    version: () => `${name} ${(JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version}`,
    settings: `bench/peers/${program}.ts: ${settings}`,
    start: listening(`peers/${program}`),
  }
}

const mosquittoStored: InstalledServer = {
  ...mosquitto,
  settings: `${mosquitto.settings?.replace('persistence false', 'persistence true\npersistence_location {folder}/')}`,
}

const natsServerStored: InstalledServer = { ...natsServer, line: [...natsServer.line, '-js', '-sd', '{folder}'] }

const redisServerStored: InstalledServer = {
  ...redisServer,
  settings: `${redisServer.settings?.replace('appendonly no', 'appendonly yes\nappendfsync everysec')}`,
}

export const ownName = 'this server'

export const peerSystems: readonly Peer[] = [
  {
    name: ownName,
    protocol: 'own',
    isThere: true,
    version: () => 'this commit',
    settings: 'DURABILITY=process, IAM=off',
    start: ownServer({ DURABILITY: 'process', IAM: 'off' }),
  },
  {
    name: `${ownName}, IAM on`,
    protocol: 'own',
    isThere: true,
    version: () => 'this commit',
    settings:
      'DURABILITY=process; devices by a provisioning key, dashboards by a token, each event checked against roles',
    start: ownServer({ DURABILITY: 'process', ...identityOn }),
  },
  {
    name: 'nats-server',
    protocol: 'nats',
    isThere: isInstalled(natsServer.command),
    version: () => versionIn('nats-server', /v([\d.]+)/, natsServer.command, '-v'),
    settings: 'as it comes, without JetStream; as many threads as there are processors',
    start: installedServer(natsServer),
  },
  {
    name: 'mosquitto',
    protocol: 'mqtt',
    isThere: isInstalled(mosquitto.command),
    version: () => versionIn('mosquitto', /version ([\d.]+)/, mosquitto.command, '-h'),
    settings: 'MQTT 3.1.1, quality 0; set_tcp_nodelay, max_queued_messages 0 (no limit), no log',
    start: installedServer(mosquitto),
  },
  {
    name: 'redis',
    protocol: 'redis',
    isThere: isInstalled(redisServer.command),
    version: () => versionIn('redis', /v=([\d.]+)/, redisServer.command, '-v'),
    settings: 'no snapshots, client-output-buffer-limit pubsub 0 0 0 (no limit)',
    start: installedServer(redisServer),
  },
  ofNpm('ws', 'websocket', 'websocket', 'sends to each what one has sent'),
  ofNpm('aedes', 'mqtt', 'aedes', 'MQTT 3.1.1, quality 0, everything in memory'),
  ofNpm('socket.io', 'socket.io', 'socket-io', 'one room, websockets alone'),
]

/** Systems that store a message before they acknowledge it, or say that they keep it. */
export const storingSystems: readonly Peer[] = [
  ...peerSystems.filter(({ protocol }) => protocol === 'own'),
  {
    name: 'nats-server, JetStream',
    protocol: 'nats stored',
    isThere: isInstalled(natsServer.command),
    version: () => versionIn('nats-server', /v([\d.]+)/, natsServer.command, '-v'),
    settings: 'a stream on disk, one replica; sync_interval as it comes (two minutes)',
    start: installedServer(natsServerStored),
  },
  {
    name: 'redis, stream',
    protocol: 'redis stored',
    isThere: isInstalled(redisServer.command),
    version: () => versionIn('redis', /v=([\d.]+)/, redisServer.command, '-v'),
    settings: 'XADD to one stream of about 500 000 entries; appendonly yes, appendfsync everysec',
    start: installedServer(redisServerStored),
  },
  {
    name: 'mosquitto, quality 1',
    protocol: 'mqtt stored',
    isThere: isInstalled(mosquitto.command),
    version: () => versionIn('mosquitto', /version ([\d.]+)/, mosquitto.command, '-h'),
    settings: 'retained messages, persistence true; acknowledged from memory, saved at its interval (30 minutes)',
    start: installedServer(mosquittoStored),
  },
]
