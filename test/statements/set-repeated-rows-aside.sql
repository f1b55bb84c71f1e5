-- Removes rows of an import whose address comes again in a later row, with a note for each.
/* set_repeated_rows_aside */ with repeated as (
        select email_key, max(row_number) as last, max(line) as last_line from audience.import_rows
        where environment_id = $1 and import_id = $2 and email_key is not null
        group by email_key having count(*) > 1
      ), removed as (
        delete from audience.import_rows r using repeated d
        where r.environment_id = $3 and r.import_id = $4
          and r.email_key = d.email_key and r.row_number < d.last
        returning r.row_number, r.line, r.email_key, d.last, d.last_line
      ), noted as (
        insert into audience.import_errors (import_id, row_number, environment_id, line, email, email_key, errors)
        select $5, row_number, $6, line, email_key, email_key,
          jsonb_build_object(
            $7::text,
            'has the address of row ' || last || coalesce(' in line ' || last_line, '') || ', which counts'
          )
        from removed
        returning row_number
      )
      select count(*) from removed;
