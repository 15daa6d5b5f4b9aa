import { uploadCommand } from '#dashboard/commands'
import { CopyButton } from '#dashboard/components/copy-button'
import { ConfirmButton } from '#dashboard/components/dialog'
import { Empty, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { actionsColumn, CallTable, type Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { mayForAll, type ProjectData, releaseText } from '#dashboard/pages/firmware/project-data'
import { isFinalStatus } from '#dashboard/pages/firmware/update-status'
import { UploadButton } from '#dashboard/pages/firmware/upload-dialog'
import { client } from '#dashboard/session'
import { bytesText } from '#dashboard/values/format-value'
import type { ReleaseEntry } from '#model/release'

/** Firmware with an image, for the devices of a project. Contract 6. */
export function Releases(data: ProjectData) {
  const { project, releases, rollout, devices } = data
  const mayUpload = mayForAll('create')
  const columns: readonly Column<ReleaseEntry>[] = [
    { title: 'Version', cell: ({ firmware }) => <code>{firmware}</code> },
    { title: 'Hardware', cell: ({ hardware }) => hardware ?? <span class="soft">any</span> },
    { title: 'Index', align: 'end', cell: ({ index }) => index },
    { title: 'Size', align: 'end', cell: ({ size }) => bytesText(size) },
    {
      title: 'SHA-256',
      cell: (release) => (
        <>
          <code title={release.sha256}>{release.sha256.slice(0, 12)}…</code>{' '}
          <CopyButton text={release.sha256} label={`Copy the SHA-256 of ${releaseText(release)}`} />
        </>
      ),
    },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn(
      (release) =>
        mayForAll('delete') && (
          <ConfirmButton
            button="Delete"
            buttonKind="quiet"
            label={`Delete ${releaseText(release)}`}
            confirm="Delete release"
            onConfirm={() => removeRelease(release, data)}
            done={`${project} ${releaseText(release)} is deleted`}
            onDone={releases.refresh}
          >
            <p>
              Devices of {project} are no longer offered this release, and its image is deleted unless another release
              uses it. This is refused while a pin, the rollout or a running update needs it. Devices with this version
              keep it.
            </p>
          </ConfirmButton>
        ),
    ),
  ]
  return (
    <Section
      title="Releases"
      actions={
        mayUpload && (
          <UploadButton
            onDone={releases.refresh}
            projectStatusOf={() => ({ hasRollout: Boolean(rollout.value), devices: devices.length })}
            project={project}
          />
        )
      }
    >
      <CallTable
        caption="List of releases"
        columns={columns}
        call={releases}
        rowKey={releaseText}
        empty={
          <Empty title="No releases" command={mayUpload ? uploadCommand(project, '1.0.0') : undefined}>
            {mayUpload
              ? 'Upload an image above to offer it to devices.'
              : 'Uploading a release needs permission to create updates.'}
          </Empty>
        }
      />
    </Section>
  )
}

async function removeRelease({ firmware, hardware, index }: ReleaseEntry, data: ProjectData): Promise<void> {
  const call = client.call('DELETE /updates/projects/:project/releases/:firmware', {
    parameters: { project: data.project, firmware },
    query: { ...(hardware !== undefined && { hardware }), index: `${index}` },
  })
  await withExplanation(call, {
    403: 'Releases apply to all devices, so they need permission on all devices.',
    409: (error) => (error.includes('in use') ? `${firmware} is in use: ${inUseReasons(firmware, data)}.` : undefined),
  })
}

const namedMax = 5

/** The reasons why a version is in use, as far as they are visible here. */
function inUseReasons(firmware: string, { rollout, pins, devices }: ProjectData): string {
  const pinned = (pins.rows ?? []).filter((pin) => pin.firmware === firmware)
  const updating = devices.filter(({ firmwares = [] }) =>
    firmwares.some(({ update }) => update?.firmware === firmware && !isFinalStatus(update.status)),
  )
  const reasons = [
    rollout.value?.firmware === firmware && 'the rollout uses it; end the rollout, or change its version',
    pinned.length > 0 && `${deviceNames(pinned)} are pinned to it; remove the pins below`,
    updating.length > 0 && `${deviceNames(updating)} are being updated to it; wait for the end of the update`,
  ].filter((reason) => reason !== false)
  return reasons.join('. Also, ') || 'a pin that is not shown here, or a running update, needs it'
}

function deviceNames(devices: readonly { readonly deviceIdentifier: string }[]): string {
  const names = devices.slice(0, namedMax).map(({ deviceIdentifier }) => deviceIdentifier)
  return devices.length > namedMax ? `${names.join(', ')} and ${devices.length - namedMax} more` : names.join(', ')
}
