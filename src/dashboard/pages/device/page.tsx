import '#dashboard/pages/device/device.css'
import { useMemo, useRef, useState } from 'preact/hooks'
import type { DeviceView } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { nameOfDevice, useDevices } from '#dashboard/binding/known-names'
import { firstMessage } from '#dashboard/commands'
import { Command, Secret } from '#dashboard/components/copy-button'
import { ConfirmButton, Dialog, DialogButton } from '#dashboard/components/dialog'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { Empty, Facts, Loading, NotLoaded, Page, Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { useIsComplete, useObservable } from '#dashboard/components/use-observable'
import { containsNull, isObject, mergePatchOf, readJson } from '#dashboard/conditions/json-text'
import { ServiceSection } from '#dashboard/pages/device/service-section'
import { DeviceFirmware } from '#dashboard/pages/firmware/device-firmware'
import type { PageProps } from '#dashboard/routes'
import { client, liveState, mayUser } from '#dashboard/session'
import { lastMessageAt } from '#dashboard/values/last-message'
import type { JsonObject } from '#model/json-value'

export default function DevicePage({ params }: PageProps) {
  const identifier = (params.id ?? '').toUpperCase()
  const { schemas, connection } = liveState()
  useObservable(schemas)
  const isRead = useDevices([identifier])
  const device = useDevice(identifier)
  const connectionState = useObservable(connection).state
  const [isDeleted, setDeleted] = useState(false)
  const status = device?.status
  // Read again when the device goes offline or comes back.
  const { value: connected } = useCall(async () => {
    if (status === undefined) return undefined
    const parameters = { deviceIdentifier: identifier }
    return client.call('GET /devices/:deviceIdentifier/connection', { parameters })
  }, [identifier, status === undefined, status === 'offline'])

  if (!device) {
    const isKnown = (connectionState === 'live' && isRead) || isDeleted
    return (
      <Page title={identifier}>
        {isKnown ? (
          <Empty title={isDeleted ? 'The device was deleted' : 'Device not found'}>
            <p>
              {isDeleted
                ? 'If it connects again, it is a new device.'
                : 'It does not exist, or your roles do not permit it.'}{' '}
              Go to the <Link to="/">fleet</Link>.
            </p>
          </Empty>
        ) : connectionState === 'closed' ? (
          <NotLoaded />
        ) : (
          <Loading text="Loading the device…" />
        )}
      </Page>
    )
  }
  const services = [...device.services]
  const where = { deviceIdentifier: identifier }
  return (
    <Page
      title={identifier}
      beside={
        <>
          {device.status && <Status state={device.status} />}
          <span class="soft">{nameOfDevice(identifier)}</span>
        </>
      }
      actions={<DeviceActions identifier={identifier} onDeleted={() => setDeleted(true)} />}
    >
      {mayUser('alarms', 'read', where) && <ActiveAlarms identifier={identifier} />}
      <div class="device">
        <div class="stack">
          {services.length === 0 && (
            <Section title="Services">
              <Empty title="No services yet">
                <p>A device declares its services in its first message. To send one by hand with its secret:</p>
                <Command command={firstMessage(identifier)} />
              </Empty>
            </Section>
          )}
          {services.map(([serviceIdentifier, service]) => (
            <ServiceSection
              key={serviceIdentifier}
              deviceIdentifier={identifier}
              serviceIdentifier={serviceIdentifier}
              service={service}
              schema={schemas.get(serviceIdentifier)}
              isConnected={device.status !== 'offline'}
            />
          ))}
        </div>
        <div class="stack">
          {device.status && (
            <Section title="Connection">
              <Facts
                facts={{
                  'Connected by': connected?.protocol
                    ? connected.protocol === 'mqtt'
                      ? 'MQTT'
                      : 'websocket'
                    : undefined,
                  'Last message': <Time at={lastMessageAt(device)} />,
                  'Last connect': <Time at={device.lastConnect} />,
                  Connects: (
                    <span class="number" title="Since the server started">
                      {device.numConnects}
                    </span>
                  ),
                }}
              />
            </Section>
          )}
          {mayUser('updates', 'read', where) && <DeviceFirmware identifier={identifier} />}
          {mayUser('meta', 'read', where) && <MetaSection identifier={identifier} meta={device.meta} />}
        </div>
      </div>
    </Page>
  )
}

function ActiveAlarms({ identifier }: { readonly identifier: string }) {
  const { alarms } = liveState()
  useObservable(alarms)
  const active = [...alarms.values()].filter((status) => status.active && status.deviceIdentifier === identifier)
  // Read again when another alarm becomes active, because that alarm may be new.
  const known = useCall(
    () => client.call('GET /alarms'),
    [active.map(({ resourceIdentifier }) => resourceIdentifier).join()],
  )
  if (active.length === 0) return null
  return (
    <ul class="active-alarms" aria-label="Active alarms">
      {active.map(({ resourceIdentifier, since }) => {
        const alarm = known.value?.find((each) => each.resourceIdentifier === resourceIdentifier)
        const id = idOf(resourceIdentifier)
        return (
          <li key={resourceIdentifier} class={alarm?.severity === 'critical' ? 'notice bad' : 'notice warning'}>
            <Status state={alarm?.severity ?? 'warning'}>
              <Link to={pathOf('alarms', id)}>{alarm?.name ?? id}</Link>
            </Status>
            <span>
              {alarm?.severity ?? 'alarm'}, active since <Time at={since} />
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** Buttons for a new secret and for the deletion, if the user may do this. */
function DeviceActions({ identifier, onDeleted }: { readonly identifier: string; readonly onDeleted: () => void }) {
  const [secret, setSecret] = useState<string>()
  const where = { deviceIdentifier: identifier }
  return (
    <>
      {mayUser('device', 'update', where) && (
        <ConfirmButton
          button="New secret…"
          title={`Create a new secret for ${identifier}?`}
          confirm="Create secret"
          kind="primary"
          onConfirm={async () => {
            const created = await client.call('POST /devices/:deviceIdentifier/secret', { parameters: where })
            setSecret(created.secret)
          }}
        >
          <p>
            The old secret becomes invalid at once, and the connection of the device is closed. The device needs the new
            secret to reconnect.
          </p>
        </ConfirmButton>
      )}
      {mayUser('device', 'delete', where) && (
        <ConfirmButton
          button="Delete…"
          buttonKind="danger"
          title={`Delete ${identifier}?`}
          confirm="Delete device"
          onConfirm={() => client.call('DELETE /devices/:deviceIdentifier', { parameters: where })}
          done={`${identifier} is deleted`}
          onDone={onDeleted}
          typed={identifier}
        >
          <p>Its values, metadata and secret are deleted. This cannot be undone.</p>
        </ConfirmButton>
      )}
      <Dialog title="The new secret" isOpen={secret !== undefined} onClose={() => setSecret(undefined)}>
        <Secret label={`Secret of ${identifier}`} text={secret ?? ''} />
      </Dialog>
    </>
  )
}

/**
 * The device. When the live state is cleared, for example at the end of a session, the result is the last known device
 * until the live state is read again. So the page keeps its input.
 */
function useDevice(identifier: string): DeviceView | undefined {
  const { devices } = liveState()
  const device = useObservable(useMemo(() => liveState().device(identifier), [identifier]))
  useIsComplete(devices)
  const known = useRef<DeviceView>()
  const isReloading = useRef(false)
  if (devices.isComplete) isReloading.current = false
  else if (!device && known.current) isReloading.current = true
  if (!isReloading.current) known.current = device
  return known.current
}

interface MetaSectionProps {
  readonly identifier: string
  readonly meta: DeviceView['meta']
}

/** Metadata of the device; edited as a whole, sent as a patch. §2.5 */
function MetaSection({ identifier, meta }: MetaSectionProps) {
  const entries = Object.entries(meta)
  return (
    <Section
      title="Metadata"
      actions={
        mayUser('meta', 'update', { deviceIdentifier: identifier }) && (
          <DialogButton button="Change…" title={`Metadata of ${identifier}`}>
            <MetaForm identifier={identifier} meta={meta} />
          </DialogButton>
        )
      }
    >
      {entries.length === 0 ? (
        <p class="soft">No metadata, such as location or owner.</p>
      ) : (
        <Facts facts={Object.fromEntries(entries.map(([key, value]) => [key, metaText(value)]))} />
      )}
    </Section>
  )
}

/** `a, b` for a list, and `lat: 47.4, lon: 8.5` for an object. */
function metaText(value: unknown): string {
  if (Array.isArray(value)) return value.map(metaText).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([key, each]) => `${key}: ${metaText(each)}`)
    .join(', ')
}

function MetaForm({ identifier, meta }: MetaSectionProps) {
  // The patch is made from the metadata at the time the form was opened, so that changes by other users stay.
  const [before] = useState(meta as JsonObject)
  const [text, setText] = useState(() => JSON.stringify(meta, null, 2))
  const [fault, setFault] = useState<string>()
  const save = async () => {
    const after = parseMetadata(text)
    if (typeof after === 'string') {
      setFault(after)
      return false
    }
    const body = mergePatchOf(before, after) as Record<string, never> | undefined
    if (!body) return true
    await client.call('PATCH /meta/:deviceIdentifier', { parameters: { deviceIdentifier: identifier }, body })
    notify(`The metadata of ${identifier} is saved`)
    return true
  }
  return (
    <Form submit="Save" onSubmit={save} isUnsaved="touched">
      <TextField
        label="Metadata as JSON"
        hint='For example {"location": "Hall 3", "owner": "Ann"}'
        value={text}
        onChange={(next) => {
          setText(next)
          setFault(undefined)
        }}
        problem={fault}
        rows={12}
        isCode
        hasFocus
      />
    </Form>
  )
}

function parseMetadata(text: string): JsonObject | string {
  const read = readJson(text.trim() || '{}')
  if ('fault' in read) return read.fault
  if (!isObject(read.value)) return 'Must be an object: { … }.'
  return containsNull(read.value) ? 'null cannot be stored: remove the key.' : read.value
}
