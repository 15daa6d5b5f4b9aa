import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { projectRoot } from '#bench/project-root'
import { StartedServer } from '#test/blackbox/started-server'
import { configurationWith, exposedPort, valuesOf } from '#test/ops/image'

/** The manifests agree with each other, with the image, and with what the server listens to and reads. */

const folder = join(projectRoot, 'ops/kubernetes')

const Labels = z.record(z.string(), z.string())
const Selector = z.strictObject({ matchLabels: Labels })
const Metadata = z.strictObject({ name: z.string(), labels: Labels })
const Reference = z.strictObject({ name: z.string(), key: z.string() })
const Probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.int(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
})
const Variable = z.union([
  z.strictObject({ name: z.string(), value: z.string() }),
  z.strictObject({ name: z.string(), valueFrom: z.strictObject({ secretKeyRef: Reference }) }),
])
const Container = z.strictObject({
  name: z.string(),
  image: z.string(),
  env: z.array(Variable),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })),
  startupProbe: Probe,
  readinessProbe: Probe,
  livenessProbe: Probe,
  resources: z.strictObject({ requests: Labels, limits: Labels }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string() })),
})
const Pod = z.strictObject({
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: z.int(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.literal(1000),
    runAsGroup: z.literal(1000),
    fsGroup: z.literal(1000),
    fsGroupChangePolicy: z.literal('OnRootMismatch'),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z.tuple([Container]),
  volumes: z.array(z.strictObject({ name: z.string(), emptyDir: z.strictObject({}) })),
})
const Claim = z.strictObject({
  metadata: z.strictObject({ name: z.string() }),
  spec: z.strictObject({
    accessModes: z.tuple([z.literal('ReadWriteOncePod')]),
    resources: z.strictObject({ requests: z.strictObject({ storage: z.string() }) }),
  }),
})
const StatefulSet = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('StatefulSet'),
  metadata: Metadata,
  spec: z.strictObject({
    serviceName: z.string(),
    replicas: z.literal(1),
    selector: Selector,
    template: z.strictObject({ metadata: z.strictObject({ labels: Labels }), spec: Pod }),
    volumeClaimTemplates: z.tuple([Claim]),
  }),
})
const Service = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata: Metadata,
  spec: z.strictObject({
    selector: Labels,
    ports: z.tuple([z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })]),
  }),
})
const ServiceMonitor = z.strictObject({
  apiVersion: z.literal('monitoring.coreos.com/v1'),
  kind: z.literal('ServiceMonitor'),
  metadata: Metadata,
  spec: z.strictObject({
    selector: Selector,
    endpoints: z.tuple([
      z.strictObject({
        port: z.string(),
        path: z.string(),
        interval: z.string(),
        authorization: z.strictObject({ type: z.literal('Bearer'), credentials: Reference }),
      }),
    ]),
  }),
})
const Namespace = z.strictObject({ namespaceSelector: Selector })
const NetworkPolicy = z.strictObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('NetworkPolicy'),
  metadata: Metadata,
  spec: z.strictObject({
    podSelector: Selector,
    policyTypes: z.tuple([z.literal('Ingress'), z.literal('Egress')]),
    ingress: z.tuple([
      z.strictObject({ from: z.array(Namespace), ports: z.tuple([z.strictObject({ port: z.string() })]) }),
    ]),
    egress: z.array(
      z.strictObject({
        ports: z.array(z.strictObject({ port: z.int(), protocol: z.enum(['TCP', 'UDP']).optional() })),
      }),
    ),
  }),
})
const Kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  resources: z.array(z.string()),
  images: z.tuple([z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })]),
})

const documentsOf = (file: string): unknown[] =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => document.toJS())
const only = <T>(schema: z.ZodType<T>, file: string): T => schema.parse(documentsOf(file)[0])

const [first, second, ...others] = documentsOf('server.yaml')
const statefulSet = StatefulSet.parse(first)
const service = Service.parse(second)
const monitor = only(ServiceMonitor, 'service-monitor.yaml')
const policy = only(NetworkPolicy, 'network-policy.yaml')
const kustomization = only(Kustomization, 'kustomization.yaml')
const pod = statefulSet.spec.template.spec
const [container] = pod.containers
const [endpoint] = monitor.spec.endpoints

test('kustomization names every manifest and the image', () => {
  expect(others).toEqual([])
  expect([...kustomization.resources, 'kustomization.yaml'].sort()).toEqual(readdirSync(folder).sort())
  expect(kustomization.images[0].name).toBe(container.image)
})

test('every selector matches its pod or service', () => {
  const { labels } = statefulSet.spec.template.metadata
  expect(statefulSet.spec.selector.matchLabels).toEqual(labels)
  expect(service.spec.selector).toEqual(labels)
  expect(policy.spec.podSelector.matchLabels).toEqual(labels)
  expect(monitor.spec.selector.matchLabels).toEqual(service.metadata.labels)
  expect(statefulSet.spec.serviceName).toBe(service.metadata.name)
})

test('every port leads to the port of the image', () => {
  expect(container.ports).toEqual([{ name: 'http', containerPort: exposedPort }])
  const [port] = service.spec.ports
  expect([port.targetPort, endpoint.port, policy.spec.ingress[0].ports[0].port]).toEqual(['http', port.name, 'http'])
  for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe])
    expect(probe.httpGet.port).toBe('http')
})

describe('the server', () => {
  const token = 'of-the-secret'
  const environment = Object.fromEntries(
    container.env.map((variable) => [variable.name, 'value' in variable ? variable.value : token]),
  )
  let server: StartedServer

  beforeAll(async () => {
    server = await StartedServer.here({ METRICS_TOKEN: token })
  })
  afterAll(() => server?.finish())

  test('accepts its settings: it trusts the ingress and writes to a folder of the volume', () => {
    const config = configurationWith(environment)
    expect(config).toMatchObject({ port: exposedPort, isProxyTrusted: true })
    expect(config.host).toBe('0.0.0.0')
    const [claim] = statefulSet.spec.volumeClaimTemplates
    const mount = container.volumeMounts.find(({ name }) => name === claim.metadata.name)
    expect(mount?.mountPath).toBe(valuesOf('ENV').DATA_DIR)
    expect(config.dataDirectory.startsWith(`${mount?.mountPath}/`)).toBe(true)
    expect(pod.volumes.map(({ name }) => name)).toEqual(
      container.volumeMounts.map(({ name }) => name).filter((name) => name !== claim.metadata.name),
    )
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(20)
  })

  test('answers every probe', async () => {
    for (const { httpGet } of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
      const answer = await fetch(`http://127.0.0.1:${server.port}${httpGet.path}`)
      expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
    }
  })

  test('gives its metrics to the token that both manifests take from one secret', async () => {
    const variable = container.env.find(({ name }) => name === 'METRICS_TOKEN')
    expect(variable).toEqual({
      name: 'METRICS_TOKEN',
      valueFrom: { secretKeyRef: endpoint.authorization.credentials },
    })
    const address = `http://127.0.0.1:${server.port}${endpoint.path}`
    const authorization = `${endpoint.authorization.type} ${token}`
    const statuses = await Promise.all([
      fetch(address, { headers: { authorization } }).then(({ status }) => status),
      fetch(address).then(({ status }) => status),
    ])
    expect(statuses).toEqual([200, 401])
  })
})
