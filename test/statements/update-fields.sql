-- Sets a custom field of a batch of people, each to a value of their own.
/* update_fields */ update audience.subscribers b set custom_fields = case when v.value is null then b.custom_fields - $1::text
            else b.custom_fields || v.value::jsonb end, updated_at = $2
      from unnest($3::uuid[], $4::text[]) v(id, value)
      where b.environment_id = $5 and b.id = any($6::uuid[]) and b.id = v.id;
