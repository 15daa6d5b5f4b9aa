import { useState } from 'preact/hooks'
import type { PropertyView } from '#client/client'
import { WriteForm } from '#dashboard/pages/device/write-form'
import { isDrawn, isTrigger, isWritable } from '#dashboard/pages/device/write-value'
import { Button } from '#dashboard/parts/button'
import { Dialog } from '#dashboard/parts/dialog'
import { Badge, Status } from '#dashboard/parts/status'
import { Time } from '#dashboard/parts/time'
import { hexOf, nameOf, type PropertySchema, valueText } from '#dashboard/values/format-value'
import type { Ring } from '#dashboard/values/ring'
import { Sparkline } from '#dashboard/values/sparkline'

export interface PropertyRowProps {
  readonly place: { readonly deviceIdentifier: string; readonly serviceIdentifier: string }
  readonly property: PropertyView
  readonly about: PropertySchema | undefined
  readonly ring: Ring
  readonly mayWrite: boolean
  readonly isLinked: boolean
}

const columns = 5

/** One property; where it may be written, the form for that opens below it. */
export function PropertyRow({ place, property, about, ring, mayWrite, isLinked }: PropertyRowProps) {
  const [isWriting, setWriting] = useState(false)
  const [isLarge, setLarge] = useState(false)
  const { propId, type, timestamp, tag } = property
  const name = nameOf(propId, about)
  const unit = about?.unit
  const canWrite = mayWrite && isWritable(property, about)
  const verb = isTrigger(property, about) ? 'Trigger' : 'Change'
  const title = `${hexOf(propId)} · ${type}${about?.description ? ` · ${about.description}` : ''}`
  const label = `${name}${unit ? ` in ${unit}` : ''} over time`
  return (
    <>
      <tr data-property={propId}>
        <th scope="row" title={title}>
          {name} {property.modifier.isVolatile && <Badge>volatile</Badge>}
        </th>
        <td class="end value">
          {tag === 'error' ? (
            <Status state="failed">{valueText(property, about)}</Status>
          ) : (
            <>
              <strong>{valueText(property, about)}</strong>
              {unit && <span class="unit"> {unit}</span>}
            </>
          )}
        </td>
        <td>
          {isDrawn(property, about) && (
            <button type="button" class="spark" aria-label={`${label}: look closer`} onClick={() => setLarge(true)}>
              <Sparkline ring={ring} version={timestamp ?? 0} label={label} />
            </button>
          )}
          <Dialog title={unit ? `${name}, ${unit}` : name} isOpen={isLarge} onClose={() => setLarge(false)} isWide>
            <Sparkline ring={ring} version={timestamp ?? 0} label={label} isLarge />
            <p class="soft">Since this page was opened, at most {ring.pointsMax} values.</p>
          </Dialog>
        </td>
        <td>{timestamp === undefined ? <span class="soft">not yet</span> : <Time at={timestamp} />}</td>
        <td class="end">
          {canWrite && (
            <Button isExpanded={isWriting} label={`${verb} ${name}`} onPress={() => setWriting(!isWriting)}>
              {verb}…
            </Button>
          )}
        </td>
      </tr>
      {isWriting && canWrite && (
        <tr class="write-row">
          <td colSpan={columns}>
            <WriteForm
              place={place}
              property={property}
              about={about}
              isLinked={isLinked}
              onClose={() => setWriting(false)}
            />
          </td>
        </tr>
      )}
    </>
  )
}
