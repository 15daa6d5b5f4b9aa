import { useState } from 'preact/hooks'
import { DeviceField } from '#dashboard/binding/device-picker'
import { apiCommand } from '#dashboard/commands'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Empty } from '#dashboard/components/empty-state'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, PagedTable } from '#dashboard/components/table'
import { notify } from '#dashboard/components/toasts'
import { versionProblem } from '#dashboard/pages/firmware/names'
import { type ProjectData, versionsOf } from '#dashboard/pages/firmware/project-data'
import { VersionField } from '#dashboard/pages/firmware/version-field'
import { client, mayUser } from '#dashboard/session'
import type { PinEntry } from '#model/release'

/** Devices that are pinned to a version. Contract 6. */
export function Pins({ project, releases, pins }: ProjectData) {
  const versions = versionsOf(releases.value)
  const mayPin = mayUser('updates', 'create') || mayUser('updates', 'update')
  const remove = async ({ deviceIdentifier }: PinEntry) => {
    await client.call('DELETE /updates/projects/:project/pins/:deviceIdentifier', {
      parameters: { project, deviceIdentifier },
    })
    notify(`${deviceIdentifier} is no longer pinned`)
    pins.refresh()
  }
  return (
    <Section
      title="Pins"
      actions={
        mayPin && (
          <DialogButton button="Pin device" title="Pin device">
            {(close) => (
              <PinForm
                project={project}
                versions={versions}
                onCancel={close}
                onDone={() => {
                  close()
                  pins.refresh()
                }}
              />
            )}
          </DialogButton>
        )
      }
    >
      <PagedTable
        caption="List of pins"
        paged={pins}
        rowKey={({ deviceIdentifier }) => deviceIdentifier}
        empty={
          <Empty
            title="No pins"
            command={
              mayPin
                ? apiCommand('-X PUT', `/updates/projects/${project}/pins/PUMP-7`, { firmware: versions[0] ?? '1.0.0' })
                : undefined
            }
          >
            A pin holds a device at one version, newer or older than its current one, regardless of the rollout.
          </Empty>
        }
        columns={[
          {
            key: 'device',
            title: 'Device',
            cell: ({ deviceIdentifier }) => <Link to={pathOf('devices', deviceIdentifier)}>{deviceIdentifier}</Link>,
          },
          {
            key: 'version',
            title: 'Version',
            cell: ({ firmware }) => (
              <>
                <code>{firmware}</code>{' '}
                {releases.value && !versions.includes(firmware) && <Badge tone="warning">no such release</Badge>}
              </>
            ),
          },
          actionsColumn(
            (pin: PinEntry) =>
              mayUser('updates', 'delete', pin) && (
                <ConfirmButton
                  button="Remove"
                  buttonKind="quiet"
                  label={`Remove the pin of ${pin.deviceIdentifier}`}
                  title={`Remove the pin of ${pin.deviceIdentifier}?`}
                  confirm="Remove pin"
                  onConfirm={() => remove(pin)}
                >
                  <p>
                    {pin.deviceIdentifier} is no longer pinned to {pin.firmware}. It is offered the version of the
                    rollout, or the newest release if there is no rollout.
                  </p>
                </ConfirmButton>
              ),
          ),
        ]}
      />
    </Section>
  )
}

function PinForm({
  project,
  versions,
  onDone,
  onCancel,
}: {
  readonly project: string
  readonly versions: readonly string[]
  readonly onDone: () => void
  readonly onCancel: () => void
}) {
  const [device, setDevice] = useState('')
  const [firmware, setFirmware] = useState(versions[0] ?? '')
  const where = { deviceIdentifier: device.trim().toUpperCase() }
  const isForbidden =
    device.trim() !== '' && !mayUser('updates', 'create', where) && !mayUser('updates', 'update', where)
  const pin = async () => {
    const deviceIdentifier = device.trim()
    const call = client.call('PUT /updates/projects/:project/pins/:deviceIdentifier', {
      parameters: { project, deviceIdentifier },
      body: { firmware },
    })
    await withExplanation(call, {
      404: `${deviceIdentifier} is not a device identifier, or you may not update the device.`,
    })
    notify(`${deviceIdentifier.toUpperCase()} is pinned to ${firmware}`)
    onDone()
  }
  return (
    <Form
      label="Pin device"
      submit="Pin"
      onSubmit={pin}
      onCancel={onCancel}
      isDisabled={device.trim() === '' || firmware === '' || versionProblem(firmware) !== undefined || isForbidden}
    >
      <DeviceField
        hint="The device need not exist yet."
        problem={isForbidden ? 'You may not update this device.' : undefined}
        value={device}
        onInput={setDevice}
      />
      <VersionField
        label="Version"
        hint="An older version than the current one downgrades the device."
        versions={versions}
        value={firmware}
        onChange={setFirmware}
      />
    </Form>
  )
}
